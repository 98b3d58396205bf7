// Renders what deploy/ has with the libraries that users have in `helm` and `kustomize`, and prints it as JSON. See README.md.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const usage = `usage: render helm CHART NAMESPACE KUBE-VERSION < values
       render lint CHART NAMESPACE < values
       render kustomize FOLDER [COMPONENT...]`

// What was rendered.
type output struct {
	Objects []json.RawMessage `json:"objects"`
	Hooks   []json.RawMessage `json:"hooks,omitempty"`
	Notes   string            `json:"notes,omitempty"`
}

// What Helm's linter says.
type message struct {
	Severity string `json:"severity"`
	Path     string `json:"path"`
	Text     string `json:"text"`
}

func main() {
	// Helm warns of symbolic links, by which the chart has what it shares with kustomize.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	result, err := run(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) (any, error) {
	switch {
	case len(args) == 4 && args[0] == "helm":
		return helm(args[1], args[2], args[3])
	case len(args) == 3 && args[0] == "lint":
		return lint(args[1], args[2])
	case len(args) >= 2 && args[0] == "kustomize":
		return kustomize(args[1], args[2:])
	}
	return nil, errors.New(usage)
}

// As `helm template --include-crds`, with the hooks apart.
func helm(path, namespace, kubeVersion string) (*output, error) {
	values, err := readValues()
	if err != nil {
		return nil, err
	}
	loaded, err := loader.Load(path)
	if err != nil {
		return nil, err
	}
	version, err := common.ParseKubeVersion(kubeVersion)
	if err != nil {
		return nil, err
	}
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy = action.DryRunClient
	install.ReleaseName = "usher"
	install.Namespace = namespace
	install.KubeVersion = version
	install.IncludeCRDs = true
	return installed(install, loaded, values)
}

func installed(install *action.Install, loaded *chart.Chart, values map[string]any) (*output, error) {
	releaser, err := install.Run(loaded, values)
	if err != nil {
		return nil, err
	}
	done, ok := releaser.(*release.Release)
	if !ok {
		return nil, fmt.Errorf("a release of an unknown version: %T", releaser)
	}
	result := &output{Notes: done.Info.Notes}
	if result.Objects, err = documents([]byte(done.Manifest)); err != nil {
		return nil, fmt.Errorf("the manifest: %w", err)
	}
	for _, hook := range done.Hooks {
		objects, err := documents([]byte(hook.Manifest))
		if err != nil {
			return nil, fmt.Errorf("the hook %s: %w", hook.Path, err)
		}
		result.Hooks = append(result.Hooks, objects...)
	}
	return result, nil
}

// As `helm lint --strict`.
func lint(path, namespace string) ([]message, error) {
	values, err := readValues()
	if err != nil {
		return nil, err
	}
	names := map[int]string{
		support.UnknownSev: "unknown", support.InfoSev: "info", support.WarningSev: "warning", support.ErrorSev: "error",
	}
	linter := action.NewLint()
	linter.Strict = true
	linter.Namespace = namespace
	messages := []message{}
	result := linter.Run([]string{path}, values)
	for _, found := range result.Messages {
		messages = append(messages, message{names[found.Severity], found.Path, found.Err.Error()})
	}
	if len(messages) == 0 {
		// Of a chart that is not even read there are no messages.
		return messages, errors.Join(result.Errors...)
	}
	return messages, nil
}

// As `kubectl kustomize`, of an overlay that has one folder as its resource and the others as components.
func kustomize(folder string, components []string) (*output, error) {
	if len(components) > 0 {
		overlay, err := os.MkdirTemp("", "usher-overlay-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(overlay)
		if err := writeOverlay(overlay, folder, components); err != nil {
			return nil, err
		}
		folder = overlay
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	text, err := resources.AsYaml()
	if err != nil {
		return nil, err
	}
	objects, err := documents(text)
	return &output{Objects: objects}, err
}

func writeOverlay(overlay, folder string, components []string) error {
	// Kustomize takes relative paths only.
	root, err := filepath.EvalSymlinks(overlay)
	if err != nil {
		return err
	}
	relative := func(path string) (string, error) {
		path, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		return filepath.Rel(root, path)
	}
	base, err := relative(folder)
	if err != nil {
		return err
	}
	kustomization := map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1",
		"kind":       "Kustomization",
		"resources":  []string{base},
	}
	paths := []string{}
	for _, component := range components {
		path, err := relative(component)
		if err != nil {
			return err
		}
		paths = append(paths, path)
	}
	kustomization["components"] = paths
	text, err := yaml.Marshal(kustomization)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), text, 0o600)
}

func readValues() (map[string]any, error) {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("the values: %w", err)
	}
	return values, nil
}

// The documents of a YAML stream as JSON, without empty ones. A key that is given twice is an error.
func documents(text []byte) ([]json.RawMessage, error) {
	split := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	objects := []json.RawMessage{}
	for {
		document, err := split.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		}
		if string(object) != "null" {
			objects = append(objects, object)
		}
	}
}
