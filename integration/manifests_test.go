package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// manifestObject is one Kubernetes object, whose shape the schemas know.
type manifestObject = map[string]any

// readManifests reads the objects of a YAML file.
func readManifests(t *testing.T, path string) (objects []manifestObject) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	for {
		var o manifestObject
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
}

// complaints are what the schemas of Kubernetes say of each object.
func complaints(t *testing.T, objects []manifestObject) (found [][]string) {
	t.Helper()
	if _, err := os.Stat("manifests/node_modules/kubernetes-models"); err != nil {
		unable(t, "needs packages of npm that make deps installs: %v", err)
	}
	in, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "manifests/check.mjs")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("manifests/check.mjs: %v", err)
	}
	if err := json.Unmarshal(out, &found); err != nil || len(found) != len(objects) {
		t.Fatalf("manifests/check.mjs: %v\n%s", err, out)
	}
	return found
}

// TestKubernetesSchemas holds the manifests against the schemas of Kubernetes itself. Mistakes
// of the kinds that people make show that the schemas are asked.
func TestKubernetesSchemas(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const file = "../deploy/kubernetes/crawlnode.yaml"
	objects := readManifests(t, file)
	for i, said := range complaints(t, objects) {
		if len(said) > 0 {
			t.Errorf("%s: %s", objects[i]["kind"], strings.Join(said, "; "))
		}
	}
	set := func(o manifestObject, value any, path ...string) {
		for _, key := range path[:len(path)-1] {
			o, _ = o[key].(manifestObject)
		}
		o[path[len(path)-1]] = value
	}
	mistakes := []struct {
		value any
		path  string
		said  string
	}{
		{"three", "spec replicas", "integer"},
		{3, "spec replicaz", "unknown field"},
		{"Sometimes", "spec podManagementPolicy", "enum"},
		{nil, "spec selector", "selector"},
		{true, "spec template spec runAsNonRoot", "unknown field"},
		{"65532", "spec template spec securityContext runAsUser", "integer"},
	}
	var wrong []manifestObject
	for _, m := range mistakes {
		fresh := readManifests(t, file)
		at := slices.IndexFunc(fresh, func(o manifestObject) bool { return o["kind"] == "StatefulSet" })
		set(fresh[at], m.value, strings.Fields(m.path)...)
		wrong = append(wrong, fresh[at])
	}
	for i, said := range complaints(t, wrong) {
		if !strings.Contains(strings.Join(said, "; "), mistakes[i].said) {
			t.Errorf("%s = %v is taken: %q", mistakes[i].path, mistakes[i].value, said)
		}
	}
}
