package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

type question struct {
	ID     string                       `json:"id"`
	Policy v1.ValidatingAdmissionPolicy `json:"policy"`
	// Schemas of kinds that are not built in.
	Schemas []custom `json:"schemas,omitempty"`
}

type custom struct {
	schema.GroupVersionKind
	Resource string       `json:"resource"`
	Schema   *spec.Schema `json:"schema"`
}

type answer struct {
	question
	Warnings []v1.ExpressionWarning `json:"warnings"`
}

// checkPolicies gives back each question with the warnings of the type checker, as they stand in status.typeChecking.
func checkPolicies(in io.Reader, out *bufio.Writer, all []served) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for number := 1; lines.Scan(); number++ {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		checker := checker(all, q.Schemas)
		if err := encoder.Encode(answer{q, warnings(checker, &q.Policy)}); err != nil {
			return err
		}
	}
	return lines.Err()
}

var definitions = openapi.GetOpenAPIDefinitions(spec.MustCreateRef)

// checker is that of kube-controller-manager over the resources that are known.
func checker(all []served, known []custom) *validating.TypeChecker {
	mapper := meta.NewDefaultRESTMapper(nil)
	schemas := schemas{definitions: definitions, served: byKind(all), custom: map[schema.GroupVersionKind]*spec.Schema{}}
	for _, one := range all {
		resource := one.gvk.GroupVersion().WithResource(one.resource)
		mapper.AddSpecific(one.gvk, resource, resource, meta.RESTScopeNamespace)
	}
	for _, one := range known {
		resource := one.GroupVersion().WithResource(one.Resource)
		mapper.AddSpecific(one.GroupVersionKind, resource, resource, meta.RESTScopeNamespace)
		schemas.custom[one.GroupVersionKind] = one.Schema
	}
	return &validating.TypeChecker{SchemaResolver: schemas, RestMapper: mapper}
}

var typeName = regexp.MustCompile(`\b([A-Z][A-Za-z]*)[0-9]{4,9}\b`)

// warnings are those of the checker, without the time of day that it puts into the names of types.
func warnings(checker *validating.TypeChecker, policy *v1.ValidatingAdmissionPolicy) []v1.ExpressionWarning {
	found := checker.Check(policy)
	for i := range found {
		found[i].Warning = typeName.ReplaceAllString(found[i].Warning, "$1")
	}
	return found
}

// byKind gives the names of the definitions.
func byKind(all []served) map[schema.GroupVersionKind]string {
	names := map[schema.GroupVersionKind]string{}
	for _, one := range all {
		names[one.gvk] = one.definition
	}
	return names
}

// schemas resolves as kube-controller-manager does: built-in kinds by the definitions in its code, the others as the API server would publish them.
type schemas struct {
	definitions map[string]common.OpenAPIDefinition
	served      map[schema.GroupVersionKind]string
	custom      map[schema.GroupVersionKind]*spec.Schema
}

func (s schemas) ResolveSchema(gvk schema.GroupVersionKind) (*spec.Schema, error) {
	if custom, ok := s.custom[gvk]; ok {
		return published(custom), nil
	}
	name, ok := s.served[gvk]
	if !ok {
		return nil, fmt.Errorf("cannot resolve %v: %w", gvk, resolver.ErrSchemaNotFound)
	}
	return resolver.PopulateRefs(func(ref string) (*spec.Schema, bool) {
		definition, ok := s.definitions[ref]
		return &definition.Schema, ok
	}, name)
}

// published adds what every custom resource has (apiextensions-apiserver pkg/controller/openapi/builder).
func published(custom *spec.Schema) *spec.Schema {
	result := *custom
	result.Properties = maps.Clone(custom.Properties)
	if result.Properties == nil {
		result.Properties = map[string]spec.Schema{}
	}
	metadata, err := resolver.PopulateRefs(func(ref string) (*spec.Schema, bool) {
		definition, ok := definitions[ref]
		return &definition.Schema, ok
	}, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
	if err == nil {
		result.Properties["metadata"] = *metadata
	}
	result.Properties["apiVersion"] = *spec.StringProperty()
	result.Properties["kind"] = *spec.StringProperty()
	return &result
}
