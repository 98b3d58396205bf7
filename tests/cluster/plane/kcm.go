//go:build kcm

package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func init() {
	programs["kcm"] = func() { os.Exit(cli.Run(app.NewControllerManagerCommand())) }
}
