package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/controlplane"
)

// field is a field of the objects of one definition.
type field struct{ model, name string }

// tally counts in how many objects of a definition a field could have been missing, and in how many it was there.
type tally struct{ seen, there int }

// present finds the fields that every object has when admission sees it, if it has what they are in: those that are always written, and those that
// the API server gives a default. For each kind it makes two objects, the least one and one in which every optional structure is there, lets the API
// server's scheme set defaults, and looks at what is written. Lists get one item and count only if they are always written, as what is in them was not asked for.
func present(all []served) map[field]bool {
	counts := map[field]*tally{}
	for _, one := range all {
		for _, full := range []bool{false, true} {
			object, err := legacyscheme.Scheme.New(one.gvk)
			if err != nil {
				continue
			}
			value := reflect.ValueOf(object).Elem()
			filled := map[string]bool{}
			fill(value, "", full, filled, 0)
			if err := defaulted(object); err != nil {
				fmt.Fprintln(os.Stderr, "openapi: no defaults:", one.gvk, err)
				continue
			}
			written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
			if err != nil {
				fmt.Fprintln(os.Stderr, "openapi: not written:", one.gvk, err)
				continue
			}
			count(value, written, "", filled, counts)
		}
	}
	found := map[field]bool{}
	for name, tally := range counts {
		found[name] = tally.seen > 0 && tally.seen == tally.there
	}
	return found
}

// defaulted sets defaults. Some functions do not expect an object that is as empty as ours.
func defaulted(object runtime.Object) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%v", cause)
		}
	}()
	legacyscheme.Scheme.Default(object)
	return nil
}

// fill gives lists of structures an item and, if full, makes optional structures; filled notes the paths of what it made.
func fill(value reflect.Value, path string, full bool, filled map[string]bool, depth int) {
	// Kinds whose definitions contain themselves would never end.
	if depth > 12 || model(value.Type()) == "" && value.Kind() == reflect.Struct && opaque(value.Type()) {
		return
	}
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			if name, inline, ok := jsonName(value.Type().Field(i)); ok {
				below := path + "." + name
				if inline {
					below = path
				}
				fill(value.Field(i), below, full, filled, depth+1)
			}
		}
	case reflect.Pointer:
		if full && value.Type().Elem().Kind() == reflect.Struct && !opaque(value.Type().Elem()) {
			value.Set(reflect.New(value.Type().Elem()))
			filled[path] = true
			fill(value.Elem(), path, full, filled, depth+1)
		}
	case reflect.Slice:
		filled[path] = true
		if value.Type().Elem().Kind() == reflect.Struct && !opaque(value.Type().Elem()) {
			value.Set(reflect.MakeSlice(value.Type(), 1, 1))
			fill(value.Index(0), path+"[]", full, filled, depth+1)
		}
	}
}

// count looks at what is written of a structure.
func count(value reflect.Value, written map[string]any, path string, filled map[string]bool, counts map[field]*tally) {
	name := model(value.Type())
	members(value, func(at reflect.StructField, member reflect.Value, json string) {
		key, below := field{name, json}, path+"."+json
		text, there := written[json]
		if counts[key] == nil {
			counts[key] = &tally{}
		}
		switch {
		case filled[below] && member.Kind() == reflect.Slice:
			counts[key].seen++
			if !strings.Contains(at.Tag.Get("json"), ",omit") {
				counts[key].there++
			}
		case !filled[below]:
			counts[key].seen++
			if there {
				counts[key].there++
			}
		}
		if member.Kind() == reflect.Pointer {
			member = member.Elem()
		}
		switch text := text.(type) {
		case map[string]any:
			if member.IsValid() && member.Kind() == reflect.Struct && !opaque(member.Type()) {
				count(member, text, below, filled, counts)
			}
		case []any:
			if member.Kind() == reflect.Slice && len(text) > 0 && member.Len() > 0 {
				if item, ok := text[0].(map[string]any); ok && member.Index(0).Kind() == reflect.Struct {
					count(member.Index(0), item, below+"[]", filled, counts)
				}
			}
		}
	})
}

// members calls visit for each field that is written, those of inlined structures as its own.
func members(value reflect.Value, visit func(at reflect.StructField, member reflect.Value, json string)) {
	for i := range value.NumField() {
		at := value.Type().Field(i)
		name, inline, ok := jsonName(at)
		switch {
		case !ok:
		case inline && value.Field(i).Kind() == reflect.Struct:
			members(value.Field(i), visit)
		case !inline:
			visit(at, value.Field(i), name)
		}
	}
}

func jsonName(at reflect.StructField) (name string, inline, ok bool) {
	name, options, _ := strings.Cut(at.Tag.Get("json"), ",")
	if !at.IsExported() || name == "-" {
		return "", false, false
	}
	if name == "" {
		return "", at.Anonymous || strings.Contains(options, "inline"), at.Anonymous
	}
	return name, false, true
}

// opaque types write themselves.
func opaque(t reflect.Type) bool {
	type writes interface{ MarshalJSON() ([]byte, error) }
	marshaler := reflect.TypeFor[writes]()
	return t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)
}

func model(t reflect.Type) string {
	if t.Kind() == reflect.Struct {
		if named, ok := reflect.New(t).Interface().(interface{ OpenAPIModelName() string }); ok {
			return named.OpenAPIModelName()
		}
	}
	return ""
}
