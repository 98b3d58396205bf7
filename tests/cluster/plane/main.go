// Command plane is a Kubernetes control plane in one file: `plane etcd FLAG…`, `plane apiserver FLAG…` and, built with the tag
// `kcm`, `plane kcm FLAG…`, each with the flags of the program that it is.
//
// Each ends when its standard input does. Whoever starts them holds a pipe open, so that they never outlive it, however it dies.
package main

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

var programs = map[string]func(){
	"etcd":      func() { etcdmain.Main(os.Args) },
	"apiserver": func() { os.Exit(cli.Run(app.NewAPIServerCommand())) },
}

func main() {
	names := make([]string, 0, len(programs))
	for name := range programs {
		names = append(names, name)
	}
	sort.Strings(names)
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintf(os.Stderr, "usage: plane {%s} FLAG...\n", strings.Join(names, "|"))
		os.Exit(2)
	}
	run := programs[os.Args[1]]
	os.Args = append(os.Args[:1], os.Args[2:]...)
	go endWithStdin()
	run()
}

// endWithStdin ends the process when nobody holds its standard input any more.
func endWithStdin() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
