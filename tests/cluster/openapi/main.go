// The program writes what Usher knows about the fields of the built-in kinds, from the API server's own code: README.md.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

func main() {
	swagger := flag.String("swagger", "", "path of api/openapi-spec/swagger.json of the module k8s.io/kubernetes")
	check := flag.Bool("check", false, "read policies, one a line, and write what the type checker says about them")
	cases := flag.Int("cases", 0, "write so many policies with random expressions, with what the type checker says about them")
	seed := flag.Int64("seed", 1, "of the random expressions")
	flag.Parse()
	if err := run(*swagger, *check, *cases, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(2)
	}
}

func run(swagger string, check bool, cases int, seed int64) error {
	served, err := readServed(swagger)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	if check {
		return checkPolicies(os.Stdin, out, served)
	}
	if cases > 0 {
		return writeCases(out, served, cases, seed)
	}
	write(out, served)
	return nil
}

// served is a resource that the API server has.
type served struct {
	gvk        schema.GroupVersionKind
	resource   string
	namespaced bool
	// Name of the definition of its objects.
	definition string
}

// readServed takes from the published specification which resources there are, and of which kind: collections that are listed or posted to.
func readServed(path string) ([]served, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	type gvk struct{ Group, Version, Kind string }
	var document struct {
		Paths       map[string]map[string]json.RawMessage
		Definitions map[string]struct {
			GVKs []gvk `json:"x-kubernetes-group-version-kind"`
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	definitions := map[gvk]string{}
	for name, definition := range document.Definitions {
		if len(definition.GVKs) == 1 {
			definitions[definition.GVKs[0]] = name
		}
	}
	found := map[string]served{}
	for path, operations := range document.Paths {
		words := strings.Split(strings.TrimPrefix(path, "/"), "/")
		if len(words) < 3 || words[0] != "api" && words[0] != "apis" {
			continue
		}
		words = words[map[string]int{"api": 2, "apis": 3}[words[0]]:]
		namespaced := len(words) == 3 && words[0] == "namespaces" && words[1] == "{namespace}"
		if len(words) != 1 && !namespaced {
			continue
		}
		resource := words[len(words)-1]
		for _, method := range []string{"get", "post"} {
			var operation struct {
				GVK *gvk `json:"x-kubernetes-group-version-kind"`
			}
			if operations[method] == nil || json.Unmarshal(operations[method], &operation) != nil || operation.GVK == nil {
				continue
			}
			definition, ok := definitions[*operation.GVK]
			if !ok {
				continue
			}
			key := operation.GVK.Group + "/" + operation.GVK.Version + "/" + resource
			found[key] = served{
				gvk:        schema.GroupVersionKind(*operation.GVK),
				resource:   resource,
				namespaced: namespaced || found[key].namespaced,
				definition: definition,
			}
		}
	}
	var all []served
	for _, one := range found {
		all = append(all, one)
	}
	sort.Slice(all, func(a, b int) bool { return order(all[a]) < order(all[b]) })
	return all, nil
}

func order(s served) string {
	return s.gvk.GroupVersion().String() + " " + s.resource
}

// writer gives each different type a number.
type writer struct {
	definitions map[string]common.OpenAPIDefinition
	present     map[field]bool
	numbers     map[string]int
	lines       []string
	done        map[string]int
	open        map[string]bool
}

func write(out *bufio.Writer, all []served) {
	w := writer{
		definitions: definitions,
		present:     present(all),
		numbers:     map[string]int{},
		done:        map[string]int{},
		open:        map[string]bool{},
	}
	for _, one := range all {
		if _, ok := w.definitions[one.definition]; !ok {
			continue
		}
		scope := "c"
		if one.namespaced {
			scope = "n"
		}
		fmt.Fprintln(out, one.gvk.GroupVersion().String(), one.gvk.Kind, one.resource, scope, w.definition(one.definition))
	}
	fmt.Fprintln(out)
	for _, line := range w.lines {
		fmt.Fprintln(out, line)
	}
}

func (w *writer) intern(line string) int {
	number, ok := w.numbers[line]
	if !ok {
		number = len(w.lines)
		w.numbers[line] = number
		w.lines = append(w.lines, line)
	}
	return number
}

func (w *writer) definition(name string) int {
	if number, ok := w.done[name]; ok {
		return number
	}
	definition, ok := w.definitions[name]
	if !ok || w.open[name] {
		// As the API server's resolver does with what contains itself.
		return w.intern("{")
	}
	w.open[name] = true
	number := w.schema(&definition.Schema, name)
	w.open[name] = false
	w.done[name] = number
	return number
}

// schema numbers a type; model is the definition that it is the body of, if it is one.
func (w *writer) schema(s *spec.Schema, model string) int {
	if s.Ref.GetURL() != nil {
		return w.definition(s.Ref.String())
	}
	for _, part := range s.AllOf {
		if part.Ref.GetURL() != nil {
			return w.definition(part.Ref.String())
		}
	}
	return w.intern(w.line(s, model))
}

func (w *writer) line(s *spec.Schema, model string) string {
	if s.Format == "int-or-string" {
		return "i"
	}
	if len(s.Type) == 0 {
		return "?"
	}
	switch s.Type[0] {
	case "string":
		switch s.Format {
		case "byte":
			return "y"
		case "duration":
			return "d"
		case "date", "date-time":
			return "t"
		}
		return "s"
	case "boolean":
		return "b"
	case "integer":
		return "n"
	case "number":
		return "f"
	case "array":
		if s.Items == nil || s.Items.Schema == nil {
			return "?"
		}
		return fmt.Sprint("[", w.schema(s.Items.Schema, ""))
	case "object":
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			return fmt.Sprint("*", w.schema(s.AdditionalProperties.Schema, ""))
		}
		names := make([]string, 0, len(s.Properties))
		for name := range s.Properties {
			names = append(names, name)
		}
		sort.Strings(names)
		required := map[string]bool{}
		for _, name := range s.Required {
			required[name] = true
		}
		words := []string{"{"}
		for _, name := range names {
			property := s.Properties[name]
			word := fmt.Sprint(name, ":", w.schema(&property, ""))
			if required[name] || w.present[field{model, name}] {
				word += "!"
			}
			words = append(words, word)
		}
		return strings.Join(words, " ")
	}
	return "?"
}
