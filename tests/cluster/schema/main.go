// Command schema writes what Usher knows about the built-in kinds for `applyConfiguration`, and cases to hold its merge against
// structured-merge-diff. See README.md.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

func main() {
	cases := flag.Int("cases", 0, "write this many merge cases instead of the schema")
	seed := flag.Int64("seed", 1, "of the cases")
	flag.Parse()
	kinds := load()
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	if *cases > 0 {
		writeCases(out, kinds, *cases, rand.New(rand.NewSource(*seed)))
		return
	}
	write(out, kinds)
}

// kinds are the types of the kinds that client-go can apply.
type kinds struct {
	schema *schema.Schema
	roots  map[gvk.GroupVersionKind]schema.TypeRef
}

func load() kinds {
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	found := kinds{roots: map[gvk.GroupVersionKind]schema.TypeRef{}}
	for kind := range scheme.Scheme.AllKnownTypes() {
		object, err := scheme.Scheme.New(kind)
		if err != nil || kind.Version == "__internal" {
			continue
		}
		object.GetObjectKind().SetGroupVersionKind(kind)
		value, err := converter.ObjectToTyped(object)
		if err != nil {
			continue
		}
		named := value.TypeRef()
		if named.NamedType == nil {
			continue
		}
		if _, ok := value.Schema().FindNamedType(*named.NamedType); !ok {
			continue
		}
		found.schema = value.Schema()
		found.roots[kind] = named
	}
	return found
}

// writer numbers types, equal ones alike.
type writer struct {
	schema *schema.Schema
	named  map[string]int
	lines  []string
	known  map[string]int
	// Fields that are keys of a list somewhere: only their defaults matter.
	keys map[string]bool
}

func write(out *bufio.Writer, found kinds) {
	w := &writer{schema: found.schema, named: map[string]int{}, known: map[string]int{}, keys: map[string]bool{}}
	for _, def := range found.schema.Types {
		w.collectKeys(def.Atom)
	}
	names := make([]gvk.GroupVersionKind, 0, len(found.roots))
	for kind := range found.roots {
		names = append(names, kind)
	}
	sort.Slice(names, func(i, j int) bool { return names[i].String() < names[j].String() })
	var header []string
	for _, kind := range names {
		version, name := kind.ToAPIVersionAndKind()
		header = append(header, fmt.Sprintf("%s %s %d", version, name, w.reference(found.roots[kind])))
	}
	// Any other kind: the metadata that every object has, and the rest deduced.
	meta, deduced := "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "__untyped_deduced_"
	scalar := schema.String
	other := schema.Map{ElementType: schema.TypeRef{NamedType: &deduced}, Fields: []schema.StructField{
		{Name: "apiVersion", Type: schema.TypeRef{Inlined: schema.Atom{Scalar: &scalar}}},
		{Name: "kind", Type: schema.TypeRef{Inlined: schema.Atom{Scalar: &scalar}}},
		{Name: "metadata", Type: schema.TypeRef{NamedType: &meta}},
	}}
	header = append(header, fmt.Sprintf("* * %d", w.reference(schema.TypeRef{Inlined: schema.Atom{Map: &other}})))
	for _, line := range header {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out)
	for _, line := range w.lines {
		fmt.Fprintln(out, line)
	}
}

func (w *writer) collectKeys(atom schema.Atom) {
	if atom.List != nil {
		for _, key := range atom.List.Keys {
			w.keys[key] = true
		}
		w.collectKeys(atom.List.ElementType.Inlined)
	}
	if atom.Map != nil {
		for _, field := range atom.Map.Fields {
			w.collectKeys(field.Type.Inlined)
		}
		w.collectKeys(atom.Map.ElementType.Inlined)
	}
}

func (w *writer) reference(ref schema.TypeRef) int {
	if ref.NamedType != nil && ref.ElementRelationship == nil {
		if number, ok := w.named[*ref.NamedType]; ok {
			return number
		}
		// Types can contain themselves, so the number comes before the text.
		number := len(w.lines)
		w.named[*ref.NamedType] = number
		w.lines = append(w.lines, "")
		atom, ok := w.schema.Resolve(ref)
		if !ok {
			panic("no type " + *ref.NamedType)
		}
		w.lines[number] = w.text(atom)
		return number
	}
	atom, ok := w.schema.Resolve(ref)
	if !ok {
		panic(fmt.Sprintf("no type %v", ref))
	}
	text := w.text(atom)
	number, ok := w.known[text]
	if !ok {
		number = len(w.lines)
		w.lines = append(w.lines, text)
		w.known[text] = number
	}
	return number
}

func (w *writer) text(atom schema.Atom) string {
	var parts []string
	if atom.Scalar != nil {
		parts = append(parts, string((*atom.Scalar)[0]))
	}
	if list := atom.List; list != nil {
		element := w.reference(list.ElementType)
		switch {
		case list.ElementRelationship != schema.Associative:
			parts = append(parts, fmt.Sprintf("[!%d", element))
		case len(list.Keys) == 0:
			parts = append(parts, fmt.Sprintf("[=%d", element))
		default:
			parts = append(parts, fmt.Sprintf("[%s>%d", strings.Join(list.Keys, ","), element))
		}
	}
	if m := atom.Map; m != nil {
		open := "{"
		if m.ElementRelationship == schema.Atomic {
			open = "{!"
		}
		parts = append(parts, open)
		element := m.ElementType
		if element.NamedType != nil || element.Inlined.Scalar != nil || element.Inlined.List != nil || element.Inlined.Map != nil {
			parts = append(parts, fmt.Sprintf("*%d", w.reference(element)))
		}
		for _, field := range m.Fields {
			part := fmt.Sprintf("%s:%d", field.Name, w.reference(field.Type))
			if field.Default != nil && w.keys[field.Name] {
				if text, err := json.Marshal(field.Default); err == nil && !strings.HasPrefix(string(text), "{") {
					part += "=" + string(text)
				}
			}
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}

// mergeCase is one merge as structured-merge-diff makes it.
type mergeCase struct {
	Live     map[string]any `json:"live"`
	Patch    map[string]any `json:"patch"`
	Expected map[string]any `json:"expected,omitempty"`
	Error    string         `json:"error,omitempty"`
}

func writeCases(out *bufio.Writer, found kinds, count int, random *rand.Rand) {
	var list []gvk.GroupVersionKind
	for kind := range found.roots {
		switch kind.Kind {
		case "Pod", "Deployment", "Service", "ConfigMap", "StatefulSet", "Ingress", "CronJob", "Node", "ServiceAccount",
			"PersistentVolumeClaim", "HorizontalPodAutoscaler", "NetworkPolicy", "Role", "ResourceClaim":
			list = append(list, kind)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].String() < list[j].String() })
	encoder := json.NewEncoder(out)
	for written := 0; written < count; {
		kind := list[random.Intn(len(list))]
		g := &generator{schema: found.schema, random: random}
		live := g.object(kind, found.roots[kind], true)
		patch := g.object(kind, found.roots[kind], false)
		result, ok := merge(found, found.roots[kind], live, patch)
		// Most random patches touch something atomic; a few of these are enough.
		if !ok || (result.Error != "" && random.Intn(8) > 0) {
			continue
		}
		if err := encoder.Encode(result); err != nil {
			panic(err)
		}
		written++
	}
}

func merge(found kinds, root schema.TypeRef, live, patch map[string]any) (mergeCase, bool) {
	result := mergeCase{Live: live, Patch: patch}
	parseable := typed.ParseableType{Schema: found.schema, TypeRef: root}
	typedPatch, err := parseable.FromUnstructured(patch)
	if err != nil {
		result.Error = "invalid"
		return result, true
	}
	if atomics(found.schema, root, patch) {
		result.Error = "atomic"
		return result, true
	}
	typedLive, err := parseable.FromUnstructured(live, typed.AllowDuplicates)
	if err != nil {
		return result, false
	}
	merged, err := typedLive.Merge(typedPatch)
	if err != nil {
		result.Error = "merge"
		return result, true
	}
	result.Expected = merged.AsValue().Unstructured().(map[string]any)
	return result, true
}

// atomics: whether a value has something atomic, by the rule of MutatingAdmissionPolicy: only declared fields are looked into.
func atomics(s *schema.Schema, ref schema.TypeRef, value any) bool {
	atom, _ := s.Resolve(ref)
	switch value := value.(type) {
	case map[string]any:
		if atom.Map == nil {
			return false
		}
		if atom.Map.ElementRelationship == schema.Atomic {
			return true
		}
		for key, inner := range value {
			if field, ok := atom.Map.FindField(key); ok && atomics(s, field.Type, inner) {
				return true
			}
		}
	case []any:
		if atom.List == nil {
			return false
		}
		if atom.List.ElementRelationship == schema.Atomic {
			return true
		}
		for _, inner := range value {
			if atomics(s, atom.List.ElementType, inner) {
				return true
			}
		}
	}
	return false
}

type generator struct {
	schema *schema.Schema
	random *rand.Rand
	live   bool
	budget int
}

func (g *generator) object(kind gvk.GroupVersionKind, root schema.TypeRef, live bool) map[string]any {
	g.live, g.budget = live, 20
	if live {
		g.budget = 40
	}
	made, _ := g.value(root, 0).(map[string]any)
	if made == nil {
		made = map[string]any{}
	}
	object := unstructured.Unstructured{Object: made}
	object.SetGroupVersionKind(kind)
	return object.Object
}

var words = []string{"a", "b", "c", "d", "x/y", "m~n"}

func (g *generator) value(ref schema.TypeRef, depth int) any {
	atom, _ := g.schema.Resolve(ref)
	g.budget--
	var ways []func() any
	if atom.Scalar != nil {
		ways = append(ways, func() any { return g.scalar(*atom.Scalar) })
	}
	if atom.List != nil && depth < 9 {
		ways = append(ways, func() any { return g.list(*atom.List, depth) })
	}
	if atom.Map != nil && depth < 9 {
		ways = append(ways, func() any { return g.structure(atom.Map, depth) })
	}
	if len(ways) == 0 {
		return nil
	}
	return ways[g.random.Intn(len(ways))]()
}

func (g *generator) scalar(kind schema.Scalar) any {
	if g.live && g.random.Intn(40) == 0 {
		return nil
	}
	switch kind {
	case schema.Numeric:
		return int64(g.random.Intn(4))
	case schema.Boolean:
		return g.random.Intn(2) == 0
	default:
		return words[g.random.Intn(len(words))]
	}
}

func (g *generator) list(list schema.List, depth int) any {
	made := []any{}
	most := 5
	if list.ElementRelationship == schema.Atomic {
		most = 2
	}
	for n := g.random.Intn(most); n > 0; n-- {
		g.budget += 2
		item := g.value(list.ElementType, depth+1)
		if fields, ok := item.(map[string]any); ok {
			atom, _ := g.schema.Resolve(list.ElementType)
			for _, key := range list.Keys {
				// An absent key has its default, or is another key.
				if field, ok := atom.Map.FindField(key); ok && g.random.Intn(6) > 0 {
					fields[key] = g.key(field)
				}
			}
		}
		made = append(made, item)
	}
	return made
}

func (g *generator) key(field schema.StructField) any {
	atom, _ := g.schema.Resolve(field.Type)
	if atom.Scalar != nil && *atom.Scalar == schema.Numeric {
		return int64(g.random.Intn(4))
	}
	if field.Default == "TCP" {
		return []string{"TCP", "UDP"}[g.random.Intn(2)]
	}
	return words[g.random.Intn(len(words))]
}

// interesting fields lead to what is merged, or are merged by key.
var interesting = map[string]bool{
	"spec": true, "metadata": true, "template": true, "containers": true, "ports": true, "env": true, "volumes": true,
	"finalizers": true, "labels": true, "volumeMounts": true, "imagePullSecrets": true, "topologySpreadConstraints": true,
	"conditions": true, "data": true, "secrets": true, "taints": true, "jobTemplate": true, "hostAliases": true,
}

func (g *generator) structure(m *schema.Map, depth int) any {
	made := map[string]any{}
	if len(m.Fields) == 0 {
		for n := g.random.Intn(4); n > 0; n-- {
			if value := g.value(m.ElementType, depth+1); value != nil || g.live {
				made[words[g.random.Intn(len(words))]] = value
			}
		}
		return made
	}
	for _, place := range g.random.Perm(len(m.Fields)) {
		field := m.Fields[place]
		if g.budget <= 0 || (!interesting[field.Name] && g.random.Intn(6) > 0) || (interesting[field.Name] && g.random.Intn(4) == 0) {
			continue
		}
		atom, _ := g.schema.Resolve(field.Type)
		atomic := (atom.List != nil && atom.List.ElementRelationship == schema.Atomic) ||
			(atom.Map != nil && atom.Map.ElementRelationship == schema.Atomic)
		if !g.live && atomic && g.random.Intn(30) > 0 {
			continue
		}
		// A null of an expression never gets as far as the merge.
		if value := g.value(field.Type, depth+1); value != nil || g.live {
			made[field.Name] = value
		}
	}
	return made
}
