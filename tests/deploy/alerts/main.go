// Checks alerting rules as `promtool check rules` does, by Prometheus' own code, and says which metrics they are about.
//
// Reads a document with `groups` from standard input; prints JSON.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

type output struct {
	Errors []string `json:"errors"`
	// Names of metrics by the alert that reads them.
	Metrics map[string][]string `json:"metrics"`
}

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(check(text))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(text []byte) output {
	result := output{Errors: []string{}, Metrics: map[string][]string{}}
	promql := parser.NewParser(parser.Options{})
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation, promql, slog.New(slog.DiscardHandler))
	for _, err := range errs {
		result.Errors = append(result.Errors, err.Error())
	}
	if len(errs) > 0 {
		return result
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			result.Metrics[rule.Alert] = metrics(promql, rule.Expr)
		}
	}
	return result
}

func metrics(promql parser.Parser, text string) []string {
	names := []string{}
	expression, err := promql.ParseExpr(text)
	if err != nil {
		// It was parsed a moment ago.
		panic(err)
	}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok && !slices.Contains(names, selector.Name) {
			names = append(names, selector.Name)
		}
		return nil
	})
	return names
}
