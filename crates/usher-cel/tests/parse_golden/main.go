// Prints the trees that cel-go makes of expressions, one JSON string a line on both sides. With any argument each node is
// followed by its place. An expression that is refused gives `ERR` and the message; the recording has null for it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
)

func q(s string) string {
	var o strings.Builder
	o.WriteByte('"')
	for _, c := range s {
		if c >= ' ' && c <= '~' && c != '"' && c != '\\' {
			o.WriteRune(c)
		} else {
			fmt.Fprintf(&o, "\\u{%x}", c)
		}
	}
	o.WriteByte('"')
	return o.String()
}

var info *ast.SourceInfo

func r(e ast.Expr) string {
	b := body(e)
	if len(os.Args) > 1 {
		l := info.GetStartLocation(e.ID())
		return fmt.Sprintf("%s@%d:%d", b, l.Line(), l.Column()+1)
	}
	return b
}
func js(es []ast.Expr) string {
	var s []string
	for _, e := range es {
		s = append(s, r(e))
	}
	return strings.Join(s, ",")
}
func opt(b bool) string {
	if b {
		return "?"
	}
	return ""
}
func body(e ast.Expr) string {
	switch e.Kind() {
	case ast.LiteralKind:
		switch v := e.AsLiteral().(type) {
		case types.Null:
			return "null"
		case types.Bool:
			return fmt.Sprint(bool(v))
		case types.Int:
			return fmt.Sprint(int64(v))
		case types.Uint:
			return fmt.Sprintf("%du", uint64(v))
		case types.Double:
			return fmt.Sprintf("d%x", math.Float64bits(float64(v)))
		case types.String:
			return q(string(v))
		case types.Bytes:
			return fmt.Sprintf("b%x", []byte(v))
		}
	case ast.IdentKind:
		return "$" + e.AsIdent()
	case ast.SelectKind:
		s := e.AsSelect()
		t := ""
		if s.IsTestOnly() {
			t = "~"
		}
		return r(s.Operand()) + "." + q(s.FieldName()) + t
	case ast.CallKind:
		c := e.AsCall()
		t := ""
		if c.IsMemberFunction() {
			t = "(" + r(c.Target()) + ")."
		}
		return t + c.FunctionName() + "(" + js(c.Args()) + ")"
	case ast.ListKind:
		l := e.AsList()
		var o []string
		for _, i := range l.OptionalIndices() {
			o = append(o, fmt.Sprint(i))
		}
		return "[" + js(l.Elements()) + "][" + strings.Join(o, ", ") + "]"
	case ast.MapKind:
		var s []string
		for _, x := range e.AsMap().Entries() {
			m := x.AsMapEntry()
			s = append(s, opt(m.IsOptional())+r(m.Key())+":"+r(m.Value()))
		}
		return "{" + strings.Join(s, ",") + "}"
	case ast.StructKind:
		var s []string
		for _, x := range e.AsStruct().Fields() {
			m := x.AsStructField()
			s = append(s, opt(m.IsOptional())+m.Name()+":"+r(m.Value()))
		}
		return e.AsStruct().TypeName() + "{" + strings.Join(s, ",") + "}"
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		return fmt.Sprintf("fold(%s,%s,%s;%s;%s;%s;%s;%s)", c.IterVar(), c.IterVar2(), c.AccuVar(), r(c.IterRange()), r(c.AccuInit()), r(c.LoopCondition()), r(c.LoopStep()), r(c.Result()))
	}
	return "?"
}

func main() {
	env, err := cel.NewEnv(cel.OptionalTypes(), ext.TwoVarComprehensions(), ext.Lists(ext.ListsVersion(3)))
	if err != nil {
		panic(err)
	}
	sc := bufio.NewScanner(os.Stdin)
	sc.Buffer(make([]byte, 1<<20), 1<<26)
	w := bufio.NewWriter(os.Stdout)
	defer w.Flush()
	for sc.Scan() {
		var s string
		if err := json.Unmarshal(sc.Bytes(), &s); err != nil {
			panic(err)
		}
		a, iss := env.ParseSource(common.NewTextSource(s))
		var t string
		if iss.Err() != nil {
			t = "ERR " + iss.Err().Error()
		} else {
			info = a.NativeRep().SourceInfo()
			t = r(a.NativeRep().Expr())
		}
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.Encode(t)
	}
}
