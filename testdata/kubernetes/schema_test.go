// Package kubernetes_test holds the example in deploy/kubernetes against the types of Kubernetes itself. It is a module of
// its own, so that these types are no dependency of belay.
package kubernetes_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const mark = "# Checked by schema only: no cluster has run this example."

// object is one document of a file, decoded as the server of Kubernetes decodes it with strict validation of fields: names
// count with their case, and none is unknown or twice.
type object struct {
	file string
	kind string
	meta meta.ObjectMeta
	any  any
}

// kinds are the objects that the example consists of.
func kinds() map[meta.TypeMeta]func() (any, *meta.ObjectMeta) {
	return map[meta.TypeMeta]func() (any, *meta.ObjectMeta){
		{APIVersion: "v1", Kind: "Namespace"}:        func() (any, *meta.ObjectMeta) { o := new(core.Namespace); return o, &o.ObjectMeta },
		{APIVersion: "v1", Kind: "ConfigMap"}:        func() (any, *meta.ObjectMeta) { o := new(core.ConfigMap); return o, &o.ObjectMeta },
		{APIVersion: "v1", Kind: "Secret"}:           func() (any, *meta.ObjectMeta) { o := new(core.Secret); return o, &o.ObjectMeta },
		{APIVersion: "v1", Kind: "Service"}:          func() (any, *meta.ObjectMeta) { o := new(core.Service); return o, &o.ObjectMeta },
		{APIVersion: "apps/v1", Kind: "StatefulSet"}: func() (any, *meta.ObjectMeta) { o := new(apps.StatefulSet); return o, &o.ObjectMeta },
		{APIVersion: "batch/v1", Kind: "Job"}:        func() (any, *meta.ObjectMeta) { o := new(batch.Job); return o, &o.ObjectMeta },
		{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}: func() (any, *meta.ObjectMeta) {
			o := new(networking.NetworkPolicy)
			return o, &o.ObjectMeta
		},
		{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}: func() (any, *meta.ObjectMeta) {
			o := new(policy.PodDisruptionBudget)
			return o, &o.ObjectMeta
		},
	}
}

// decode takes one document apart.
func decode(file string, doc []byte) (object, []error) {
	o := object{file: file}
	text, err := yaml.YAMLToJSONStrict(doc)
	if err != nil {
		return o, []error{err}
	}
	var head meta.TypeMeta
	if err := json.UnmarshalCaseSensitivePreserveInts(text, &head); err != nil {
		return o, []error{err}
	}
	o.kind = head.Kind
	into := kinds()[head]
	if into == nil {
		return o, []error{&os.PathError{Op: "decode", Path: head.APIVersion + " " + head.Kind, Err: os.ErrNotExist}}
	}
	value, m := into()
	faults, err := json.UnmarshalStrict(text, value)
	if err != nil {
		faults = append(faults, err)
	}
	o.any, o.meta = value, *m
	return o, faults
}

// objects decodes all files of the example.
func objects(t *testing.T) (all []object) {
	t.Helper()
	files, err := filepath.Glob("../../deploy/kubernetes/*.yaml")
	if err != nil || len(files) < 7 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(b), mark) {
			t.Errorf("%s does not begin with %q", file, mark)
		}
		file = filepath.Base(file)
		for _, doc := range bytes.Split(b, []byte("\n---\n")) {
			o, faults := decode(file, doc)
			for _, err := range faults {
				t.Errorf("%s: %v", file, err)
			}
			all = append(all, o)
		}
	}
	return all
}

// Every object is one of Kubernetes', has no member that Kubernetes does not know, and is in the namespace of the example.
func TestEveryObjectIsOneOfKubernetes(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range objects(t) {
		name := o.kind + "/" + o.meta.Name
		if o.meta.Name == "" || seen[name] {
			t.Errorf("%s: %s has no name, or is there twice", o.file, name)
		}
		seen[name] = true
		if o.kind != "Namespace" && o.meta.Namespace != "agents" {
			t.Errorf("%s: %s is in the namespace %q", o.file, name, o.meta.Namespace)
		}
	}
	for _, want := range []string{"StatefulSet/build-agent", "Job/belay-migrate", "Secret/belay-logins", "ConfigMap/belay",
		"NetworkPolicy/build-agent", "PodDisruptionBudget/build-agent"} {
		if !seen[want] {
			t.Errorf("there is no %s", want)
		}
	}
}

// The decoding notices what a person gets wrong.
func TestMistakesAreNoticed(t *testing.T) {
	for what, doc := range map[string]string{
		"a member of another name": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringdata: {a: b}\n",
		"a member twice":           "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nmetadata: {name: b}\n",
		"another type":             "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: 1}\n",
		"an unknown kind":          "apiVersion: v1\nkind: Secrets\nmetadata: {name: a}\n",
	} {
		if _, faults := decode("", []byte(doc)); len(faults) == 0 {
			t.Errorf("%s was not noticed", what)
		}
	}
}

// pods are the pods that the example starts, by the object that starts them.
func pods(t *testing.T) map[string]*core.PodSpec {
	t.Helper()
	out := map[string]*core.PodSpec{}
	for _, o := range objects(t) {
		switch v := o.any.(type) {
		case *apps.StatefulSet:
			out[o.meta.Name] = &v.Spec.Template.Spec
		case *batch.Job:
			out[o.meta.Name] = &v.Spec.Template.Spec
		}
	}
	if len(out) != 2 {
		t.Fatalf("%d pods", len(out))
	}
	return out
}

// Each container keeps to the restricted profile of Kubernetes' pod security standards, which the namespace demands.
func TestContainersAreRestricted(t *testing.T) {
	for name, pod := range pods(t) {
		s := pod.SecurityContext
		if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil ||
			s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: the pod may run as root, or with every system call", name)
		}
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
			t.Errorf("%s: the pod has a token for the cluster", name)
		}
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			s := c.SecurityContext
			if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.Capabilities == nil ||
				!slices.Contains(s.Capabilities.Drop, "ALL") || len(s.Capabilities.Add) > 0 {
				t.Errorf("%s: container %s is not restricted", name, c.Name)
			}
		}
	}
}

// The names that objects call each other by are there: volumes, maps, secrets and the labels of pods.
func TestReferencesResolve(t *testing.T) {
	have := map[string]map[string]bool{}
	labels := map[string]map[string]string{}
	for _, o := range objects(t) {
		keys := map[string]bool{}
		switch v := o.any.(type) {
		case *core.ConfigMap:
			for k := range v.Data {
				keys[k] = true
			}
		case *core.Secret:
			for k := range v.StringData {
				keys[k] = true
			}
		case *apps.StatefulSet:
			labels[o.meta.Name] = v.Spec.Template.Labels
			if v.Spec.Selector.MatchLabels["app"] != v.Spec.Template.Labels["app"] {
				t.Errorf("%s selects other pods than it makes", o.meta.Name)
			}
		case *batch.Job:
			labels[o.meta.Name] = v.Spec.Template.Labels
		}
		have[o.kind+"/"+o.meta.Name] = keys
	}
	selected := func(file string, s map[string]string) {
		for _, l := range labels {
			if len(s) > 0 && s["app"] == l["app"] {
				return
			}
		}
		t.Errorf("%s selects no pod of the example: %v", file, s)
	}
	for _, o := range objects(t) {
		switch v := o.any.(type) {
		case *networking.NetworkPolicy:
			selected(o.file, v.Spec.PodSelector.MatchLabels)
		case *policy.PodDisruptionBudget:
			selected(o.file, v.Spec.Selector.MatchLabels)
		case *core.Service:
			selected(o.file, v.Spec.Selector)
		case *apps.StatefulSet:
			if have["Service/"+v.Spec.ServiceName] == nil {
				t.Errorf("there is no service %s", v.Spec.ServiceName)
			}
			for i := range *v.Spec.Replicas {
				if login := v.Name + "-" + string('0'+rune(i)); !have["Secret/belay-logins"][login] {
					t.Errorf("pod %s has no login", login)
				}
			}
		}
	}
	claims := map[string][]string{"build-agent": {"state"}}
	for name, pod := range pods(t) {
		volumes := claims[name]
		for _, v := range pod.Volumes {
			volumes = append(volumes, v.Name)
			switch {
			case v.ConfigMap != nil:
				keys := have["ConfigMap/"+v.ConfigMap.Name]
				for _, item := range v.ConfigMap.Items {
					if !keys[item.Key] {
						t.Errorf("%s: %s has no %s", name, v.ConfigMap.Name, item.Key)
					}
				}
				if keys == nil {
					t.Errorf("%s: there is no map %s", name, v.ConfigMap.Name)
				}
			case v.Secret != nil && have["Secret/"+v.Secret.SecretName] == nil:
				t.Errorf("%s: there is no secret %s", name, v.Secret.SecretName)
			}
		}
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			for _, m := range c.VolumeMounts {
				if !slices.Contains(volumes, m.Name) {
					t.Errorf("%s: container %s mounts %s, which is no volume", name, c.Name, m.Name)
				}
			}
		}
	}
}

// The agent's container has neither a login of the database nor belay's own files, and is another user.
func TestAgentIsApart(t *testing.T) {
	pod := pods(t)["build-agent"]
	var belay *core.Container
	for i := range pod.InitContainers {
		if pod.InitContainers[i].Name == "belay" {
			belay = &pod.InitContainers[i]
		}
	}
	if belay == nil || belay.RestartPolicy == nil || *belay.RestartPolicy != core.ContainerRestartPolicyAlways {
		t.Fatal("belay is no sidecar")
	}
	for _, c := range pod.Containers {
		if *c.SecurityContext.RunAsUser == *belay.SecurityContext.RunAsUser {
			t.Errorf("%s runs as belay does", c.Name)
		}
		for _, m := range c.VolumeMounts {
			if slices.Contains([]string{"state", "logins", "run", "config"}, m.Name) {
				t.Errorf("%s mounts %s", c.Name, m.Name)
			}
		}
	}
}
