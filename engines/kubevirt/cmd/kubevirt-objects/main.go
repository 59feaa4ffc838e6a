// Command kubevirt-objects prints what virt-operator would install, as a JSON list.
//
// KubeVirt has no files with its definitions, roles and webhooks: they are Go functions, called
// here, so that a lab gets exactly the objects of the version that is compiled in. Deployments,
// secrets and OpenShift's own kinds are left out: in a lab the programs are processes, and the
// lab makes their certificates. The order is the order of installation.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"kubevirt.io/client-go/version"

	"kubevirt.io/kubevirt/pkg/monitoring/rules"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/install"
	"kubevirt.io/kubevirt/pkg/virt-operator/util"
)

const (
	registry       = "quay.io/kubevirt"
	admissionGroup = "admissionregistration.k8s.io/v1"
)

func main() {
	namespace := flag.String("namespace", "kubevirt", "the namespace that KubeVirt runs in")
	tell := flag.Bool("version", false, "print KubeVirt's version and exit")
	flag.Parse()
	if *tell {
		fmt.Println("kubevirt-objects", version.Get().GitVersion)
		return
	}
	if err := run(*namespace); err != nil {
		fmt.Fprintln(os.Stderr, "kubevirt-objects:", err)
		os.Exit(1)
	}
}

func run(namespace string) error {
	list, err := objects(namespace)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(list)
}

func objects(namespace string) ([]runtime.Object, error) {
	config := &util.KubeVirtDeploymentConfig{
		Namespace:            namespace,
		Registry:             registry,
		KubeVirtVersion:      version.Get().GitVersion,
		AdditionalProperties: map[string]string{},
	}
	strategy, err := install.GenerateCurrentInstallStrategy(config, "", namespace)
	if err != nil {
		return nil, fmt.Errorf("generating the install strategy: %w", err)
	}
	kubevirt, err := components.NewKubeVirtCrd()
	if err != nil {
		return nil, fmt.Errorf("generating the definition of KubeVirt: %w", err)
	}
	list := []runtime.Object{components.NewKubeVirtPriorityClassCR(), kubevirt}
	list = appendAll(list, strategy.CRDs())
	list = appendAll(list, strategy.ServiceAccounts())
	list = appendAll(list, strategy.ClusterRoles())
	list = appendAll(list, strategy.ClusterRoleBindings())
	list = appendAll(list, strategy.Roles())
	list = appendAll(list, strategy.RoleBindings())
	list = appendAll(list, strategy.ConfigMaps())
	list = appendAll(list, admissionPolicies(strategy))
	list = appendAll(list, strategy.ValidatingWebhookConfigurations())
	list = appendAll(list, strategy.MutatingWebhookConfigurations())
	list = appendAll(list, strategy.APIServices())
	list = appendAll(list, strategy.Services())
	list = appendAll(list, strategy.Instancetypes())
	list = appendAll(list, strategy.Preferences())
	return appendRules(list, namespace)
}

// admissionPolicies gives the policies the API group that KubeVirt leaves out.
func admissionPolicies(strategy *install.Strategy) []runtime.Object {
	list := []runtime.Object{}
	for _, policy := range strategy.ValidatingAdmissionPolicies() {
		policy.APIVersion = admissionGroup
		list = append(list, policy)
	}
	for _, binding := range strategy.ValidatingAdmissionPolicyBindings() {
		binding.APIVersion = admissionGroup
		list = append(list, binding)
	}
	return list
}

func appendRules(list []runtime.Object, namespace string) ([]runtime.Object, error) {
	if err := rules.SetupRules(namespace); err != nil {
		return nil, fmt.Errorf("setting up the recording rules: %w", err)
	}
	rule, err := rules.BuildPrometheusRule(namespace)
	if err != nil {
		return nil, fmt.Errorf("building the recording rules: %w", err)
	}
	return append(list, rule), nil
}

func appendAll[T runtime.Object](list []runtime.Object, more []T) []runtime.Object {
	for _, each := range more {
		list = append(list, each)
	}
	return list
}
