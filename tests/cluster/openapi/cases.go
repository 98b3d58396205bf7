package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"sort"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// writeCases writes policies with random expressions over the fields of random kinds, each with what the type checker says about it.
func writeCases(out *bufio.Writer, all []served, count int, seed int64) error {
	random := rand.New(rand.NewSource(seed))
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for number := range count {
		policy := v1.ValidatingAdmissionPolicy{}
		constraints := &v1.MatchResources{}
		policy.Spec.MatchConstraints = constraints
		first := all[random.Intn(len(all))]
		gvks := []served{first}
		if random.Intn(3) == 0 {
			gvks = append(gvks, all[random.Intn(len(all))])
		}
		for _, one := range gvks {
			rule := v1.NamedRuleWithOperations{}
			rule.APIGroups, rule.APIVersions, rule.Resources = []string{one.gvk.Group}, []string{one.gvk.Version}, []string{one.resource}
			rule.Operations = []v1.OperationType{"*"}
			switch random.Intn(16) {
			case 0:
				rule.APIVersions = []string{"*"}
			case 1:
				rule.Resources = []string{"*", one.resource, one.resource + "/status"}
			}
			constraints.ResourceRules = append(constraints.ResourceRules, rule)
		}
		if random.Intn(4) == 0 {
			policy.Spec.ParamKind = &v1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
			policy.Spec.Validations = append(policy.Spec.Validations, v1.Validation{Expression: draw(random, "params", schemaOf(all[slices.IndexFunc(all, func(one served) bool { return one.gvk.Kind == "ConfigMap" })]))})
		}
		if random.Intn(3) == 0 {
			path, _ := walk(random, "object", schemaOf(first))
			policy.Spec.Variables = []v1.Variable{{Name: "v", Expression: path}}
			uses := []string{"has(variables.v.name)", "variables.v == 'x'", "variables.v + 1 > 2", "size(variables.v) > 0", "variables.v.exists(x, x.name == 'a')"}
			policy.Spec.Validations = append(policy.Spec.Validations, v1.Validation{Expression: uses[random.Intn(len(uses))]})
		}
		for range 3 {
			root := []string{"object", "oldObject"}[random.Intn(2)]
			validation := v1.Validation{Expression: draw(random, root, schemaOf(first))}
			if random.Intn(3) == 0 {
				path, _ := walk(random, "object", schemaOf(first))
				validation.MessageExpression = "'no: ' + string(" + path + ")"
			}
			policy.Spec.Validations = append(policy.Spec.Validations, validation)
		}
		q := question{ID: fmt.Sprint(number), Policy: policy}
		result := answer{q, warnings(checker(all, nil), &policy)}
		if err := encoder.Encode(result); err != nil {
			return err
		}
	}
	return nil
}

func schemaOf(one served) *spec.Schema {
	resolved, err := (schemas{definitions: definitions, served: byKind([]served{one})}).ResolveSchema(one.gvk)
	if err != nil {
		return &spec.Schema{}
	}
	return resolved
}

// walk goes down a schema at random; now and then it leaves the way.
func walk(random *rand.Rand, path string, at *spec.Schema) (string, *spec.Schema) {
	for depth := 0; depth < 7; depth++ {
		switch {
		case at.Items != nil && at.Items.Schema != nil:
			if random.Intn(4) == 0 {
				return path, at
			}
			path, at = path+"[0]", at.Items.Schema
		case at.AdditionalProperties != nil && at.AdditionalProperties.Schema != nil:
			path, at = path+[]string{".key", "['a/b']"}[random.Intn(2)], at.AdditionalProperties.Schema
		case len(at.Properties) > 0 && (depth < 2 || random.Intn(8) > 0):
			names := make([]string, 0, len(at.Properties))
			for name := range at.Properties {
				names = append(names, name)
			}
			sort.Strings(names)
			name := names[random.Intn(len(names))]
			if slices.Contains(names, "spec") && random.Intn(2) == 0 {
				name = "spec"
			}
			property := at.Properties[name]
			switch random.Intn(24) {
			case 0:
				return path + "." + name + "s", &spec.Schema{}
			case 1:
				return path + "." + name + ".missing", &spec.Schema{}
			}
			if slices.ContainsFunc([]byte(name), func(c byte) bool { return c == '-' || c == '$' }) {
				return path, at
			}
			path, at = path+"."+name, &property
		default:
			return path, at
		}
	}
	return path, at
}

// draw makes a condition of a random field.
func draw(random *rand.Rand, root string, schema *spec.Schema) string {
	path, at := walk(random, root, schema)
	fitting := "'x'"
	if len(at.Type) > 0 {
		fitting = map[string]string{"integer": "3", "number": "1.5", "boolean": "true", "array": "[]", "object": "{}"}[at.Type[0]]
	}
	if fitting == "" {
		fitting = "'x'"
	}
	other, _ := walk(random, root, schema)
	forms := []string{
		path + " == " + fitting, path + " == " + fitting, path + " != 'x'", path + " > 1", path + ".startsWith('a')", "size(" + path + ") > 0",
		path + ".all(i, i == 'x')", path + ".exists(i, i.name == 'x')", path + ".map(i, i).size() == 1", path + " == " + other, "'a' in " + path,
		path + " in ['a', 'b']", path + ".?name.orValue('') == ''", "[" + path + "] + [" + other + "] != []", path + " < timestamp('2020-01-01T00:00:00Z')",
		"quantity(" + path + ").isGreaterThan(quantity('1'))", "true ? " + path + " == " + other + " : false", path + " == null",
	}
	return forms[random.Intn(len(forms))]
}
