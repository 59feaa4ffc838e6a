// Command kube-scheduler is the stock scheduler with trimtab's plugins compiled in.
//
// The list of plugins lives here and nowhere else; which of them a profile uses is
// configuration. A profile that names none of them is upstream's, unchanged.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"trimtab.dev/engines/kubernetes/qosaware"
)

func plugins() []app.Option {
	return []app.Option{app.WithPlugin(qosaware.Name, qosaware.New)}
}

func main() {
	os.Exit(cli.Run(app.NewSchedulerCommand(plugins()...)))
}
