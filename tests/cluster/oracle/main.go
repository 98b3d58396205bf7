// The oracle answers CEL expressions with the API server's own code.
//
// It reads one JSON object a line from standard input, {"id", "expr", "vars"}, and writes one a line, in the same order: the typed value
// or the error with its stage, the estimated and the actual cost. With -text it reads bare expressions, and the variable `object` from a file. Variables are of type dyn; `authorizer` is one that allows the verb "get",
// fails for "fail" and has no opinion on others.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"k8s.io/apimachinery/pkg/util/version"
	plugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/mutation"
)

type question struct {
	ID   string         `json:"id"`
	Expr string         `json:"expr"`
	Vars map[string]any `json:"vars"`
	// As in the expressions of a policy: typed `request` and `namespaceObject`, and the types that a patch is made of.
	Policy bool `json:"policy"`
	// The minor version of Kubernetes 1.x with which a new expression must be compatible; 0 is a stored expression, which may use everything.
	Version uint `json:"version"`
	// What estimates may know: the smallest and the largest size of what stands at a path, its segments joined by dots.
	Sizes map[string][2]uint64 `json:"sizes"`
}

type answer struct {
	ID string `json:"id"`
	// Of the result, as the API server names it.
	Type  string `json:"type,omitempty"`
	Value *typed `json:"value,omitempty"`
	Error string `json:"error,omitempty"`
	// "compile" or "run", with an error; "panic" where the API server's own code crashes.
	Stage string `json:"stage,omitempty"`
	// Of an expression that compiles: the least and the most that it is estimated to cost.
	Estimate []uint64 `json:"estimate,omitempty"`
	// Of an evaluation without a compile error.
	Cost *uint64 `json:"cost,omitempty"`
}

type typed struct {
	Type  string `json:"t"`
	Value any    `json:"v"`
}

func main() {
	text := flag.Bool("text", false, "read bare expressions, one a line, instead of JSON; # begins a comment line")
	object := flag.String("object", "", "with -text, the JSON file with the value of the variable object")
	flag.Parse()
	read := readJSON
	if *text {
		var err error
		if read, err = readText(*object); err != nil {
			fmt.Fprintln(os.Stderr, "oracle:", err)
			os.Exit(2)
		}
	}
	if err := run(os.Stdin, os.Stdout, read); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(2)
	}
}

func readJSON(line string) (question, error) {
	var q question
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.UseNumber()
	err := decoder.Decode(&q)
	return q, err
}

// readText takes each expression for its own id; all are about the object in the file, if there is one.
func readText(object string) (func(line string) (question, error), error) {
	text := "{}"
	if object != "" {
		content, err := os.ReadFile(object)
		if err != nil {
			return nil, err
		}
		text = `{"vars": {"object": ` + string(content) + `}}`
	}
	return func(line string) (question, error) {
		// Read anew for each: variables are changed when they become native.
		q, err := readJSON(text)
		q.ID, q.Expr = line, line
		return q, err
	}, nil
}

func run(in io.Reader, out io.Writer, read func(line string) (question, error)) error {
	environments := map[key]*cel.Env{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	writer := bufio.NewWriter(out)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		q, err := read(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		wanted := key{q.Version, q.Policy}
		env := environments[wanted]
		if env == nil {
			if env, err = wanted.env(); err != nil {
				return err
			}
			environments[wanted] = env
		}
		if err := encoder.Encode(ask(env, q)); err != nil {
			return err
		}
		// Who asks may wait for this answer before the next question.
		if err := writer.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}

// What an environment depends on.
type key struct {
	version uint
	policy  bool
}

// env is what the API server compiles new expressions in; those of a policy as in a MutatingAdmissionPolicy, without params.
func (k key) env() (*cel.Env, error) {
	kind := environment.NewExpressions
	minor := k.version
	if minor == 0 {
		kind = environment.StoredExpressions
	}
	set := environment.MustBaseEnvSet(version.MajorMinor(1, minor))
	if k.policy {
		return policyEnv(set, kind)
	}
	env, err := set.Env(kind)
	if err != nil {
		return nil, err
	}
	options := []cel.EnvOption{cel.Variable("authorizer", library.AuthorizerType)}
	// Only a MutatingAdmissionPolicy has it, which is there from then on.
	if minor == 0 || minor >= 32 {
		options = append(options, library.JSONPatch())
	}
	return env.Extend(options...)
}

func policyEnv(set *environment.EnvSet, kind environment.Type) (*cel.Env, error) {
	request, namespace := plugin.BuildRequestType(), plugin.BuildNamespaceType()
	set, err := set.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: []cel.EnvOption{
			cel.Variable(plugin.RequestVarName, request.CelType()),
			cel.Variable(plugin.NamespaceVarName, namespace.CelType()),
			cel.Variable(plugin.AuthorizerVarName, library.AuthorizerType),
			cel.Variable(plugin.RequestResourceAuthorizerVarName, library.ResourceCheckType),
		},
		DeclTypes: []*apiservercel.DeclType{request, namespace},
	})
	if err != nil {
		return nil, err
	}
	env, err := set.Env(kind)
	if err != nil {
		return nil, err
	}
	return env.Extend(common.ResolverEnvOption(&mutation.DynamicTypeResolver{}), library.JSONPatch())
}

func ask(base *cel.Env, q question) (result answer) {
	result.ID = q.ID
	// Some constants crash the API server's compiler: bytes as keys of a map.
	defer func() {
		if cause := recover(); cause != nil {
			result = answer{ID: q.ID, Error: fmt.Sprint(cause), Stage: "panic"}
		}
	}()
	vars := map[string]any{
		"authorizer": library.NewAuthorizerVal(&user.DefaultInfo{Name: "alice"}, fixedAuthorizer{}),
	}
	var options []cel.EnvOption
	for name, value := range q.Vars {
		options = append(options, cel.Variable(name, cel.DynType))
		vars[name] = native(value)
	}
	env, err := base.Extend(options...)
	if err != nil {
		result.Error, result.Stage = err.Error(), "compile"
		return result
	}
	ast, issues := env.Compile(q.Expr)
	if issues.Err() != nil {
		result.Error, result.Stage = issues.Err().Error(), "compile"
		return result
	}
	result.Type = ast.OutputType().String()
	estimate, err := env.EstimateCost(ast, &library.CostEstimator{SizeEstimator: statedSizes(q.Sizes)})
	if err != nil {
		result.Error, result.Stage = err.Error(), "compile"
		return result
	}
	result.Estimate = []uint64{estimate.Min, estimate.Max}
	program, err := env.Program(ast)
	if err != nil {
		result.Error, result.Stage = "program instantiation failed: "+err.Error(), "compile"
		return result
	}
	value, details, err := program.Eval(vars)
	if details != nil {
		result.Cost = details.ActualCost()
	}
	if err != nil {
		result.Error, result.Stage = err.Error(), "run"
		return result
	}
	result.Value = describe(value)
	return result
}

// statedSizes tells sizes by path.
type statedSizes map[string][2]uint64

func (s statedSizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	if size, ok := s[strings.Join(element.Path(), ".")]; ok {
		return &checker.SizeEstimate{Min: size[0], Max: size[1]}
	}
	return nil
}

func (statedSizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

type fixedAuthorizer struct{}

func (fixedAuthorizer) Authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	switch attributes.GetVerb() {
	case "get":
		return authorizer.DecisionAllow, "everybody may get", nil
	case "fail":
		return authorizer.DecisionNoOpinion, "", errors.New("the authorizer failed")
	default:
		return authorizer.DecisionNoOpinion, "", nil
	}
}

// native turns JSON into what the API server hands to CEL: int64 where a number is whole and fits, else float64.
func native(value any) any {
	switch value := value.(type) {
	case json.Number:
		if int, err := value.Int64(); err == nil {
			return int
		}
		double, _ := value.Float64()
		return double
	case []any:
		for i := range value {
			value[i] = native(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = native(value[key])
		}
	}
	return value
}

// describe writes a value with its type, so that 1 and 1u and 1.0 differ.
func describe(value ref.Val) *typed {
	switch value := value.(type) {
	case types.Null:
		return &typed{"null", nil}
	case types.Bool:
		return &typed{"bool", bool(value)}
	case types.Int:
		return &typed{"int", strconv.FormatInt(int64(value), 10)}
	case types.Uint:
		return &typed{"uint", strconv.FormatUint(uint64(value), 10)}
	case types.Double:
		return &typed{"double", double(float64(value))}
	case types.String:
		return &typed{"string", string(value)}
	case types.Bytes:
		return &typed{"bytes", base64.StdEncoding.EncodeToString([]byte(value))}
	case types.Timestamp:
		return &typed{"timestamp", value.Time.UTC().Format(time.RFC3339Nano)}
	case types.Duration:
		return &typed{"duration", value.Duration.String()}
	case *types.Optional:
		if !value.HasValue() {
			return &typed{"optional", nil}
		}
		return &typed{"optional", describe(value.GetValue())}
	case *types.Type:
		return &typed{"type", value.TypeName()}
	case traits.Lister:
		items := []*typed{}
		for it := value.Iterator(); it.HasNext() == types.True; {
			items = append(items, describe(it.Next()))
		}
		return &typed{"list", items}
	case traits.Mapper:
		entries := [][2]*typed{}
		for it := value.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			entries = append(entries, [2]*typed{describe(key), describe(value.Get(key))})
		}
		sort.Slice(entries, func(a, b int) bool {
			return fmt.Sprint(entries[a][0].Value) < fmt.Sprint(entries[b][0].Value)
		})
		return &typed{"map", entries}
	default:
		return &typed{value.Type().TypeName(), text(value)}
	}
}

func double(value float64) string {
	switch {
	case math.IsNaN(value):
		return "NaN"
	case math.IsInf(value, 0):
		return strings.ReplaceAll(strconv.FormatFloat(value, 'g', -1, 64), "Inf", "Infinity")
	default:
		return strconv.FormatFloat(value, 'g', -1, 64)
	}
}

// text prints a value of a library's own type; nil where it has no text.
func text(value ref.Val) any {
	switch value := value.(type) {
	case apiservercel.Quantity:
		return value.Quantity.String()
	case *apiservercel.Quantity:
		return value.Quantity.String()
	case apiservercel.URL:
		return value.URL.String()
	case apiservercel.IP:
		return value.Addr.String()
	case apiservercel.CIDR:
		return value.Prefix.String()
	case apiservercel.Format:
		return value.Name
	case apiservercel.Semver:
		return value.Version.String()
	default:
		return nil
	}
}
