package api

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schema is as much of a JSON schema as is needed to follow the names of fields.
type schema struct {
	Ref        string             `json:"$ref"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	AllOf      []*schema          `json:"allOf"`
	AnyOf      []*schema          `json:"anyOf"`
	OneOf      []*schema          `json:"oneOf"`
}

// openDocument is as much of docs/openapi.json as is needed.
type openDocument struct {
	Paths      map[string]any `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

// fields are those of a schema, of the elements of a list, or of what it refers to.
func (d *openDocument) fields(s *schema) map[string]*schema {
	switch {
	case s == nil:
		return nil
	case s.Ref != "":
		return d.fields(d.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]])
	case s.Items != nil:
		return d.fields(s.Items)
	case s.Properties != nil:
		return s.Properties
	}
	for _, of := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
		if found := d.fields(of); found != nil {
			return found
		}
	}
	return nil
}

// has follows a name with dots.
func (d *openDocument) has(s *schema, path string) bool {
	for name := range strings.SplitSeq(path, ".") {
		next, ok := d.fields(s)[name]
		if !ok {
			return false
		}
		s = next
	}
	return true
}

// route reports whether the API has a path, in which a document may write words for {parameters}.
func (d *openDocument) route(path string) bool {
	words := strings.Split(strings.Trim(path, "/"), "/")
	for known := range d.Paths {
		is := strings.Split(strings.Trim(known, "/"), "/")
		same := len(is) == len(words)
		for i := 0; same && i < len(is); i++ {
			same = is[i] == words[i] || strings.HasPrefix(is[i], "{")
		}
		if same {
			return true
		}
	}
	return false
}

var (
	fieldName = regexp.MustCompile("`([a-z][a-z_]*(?:\\.[a-z0-9_]+)+)`")
	routeName = regexp.MustCompile(`/api/v1/[A-Za-z0-9_{}./-]*`)
)

// noField are names with dots whose first part is a field of the status by chance.
var noField = []string{
	"fetch.exception",                             // metadata of StormCrawler, in workers.md
	"fetch.error.count",                           // likewise
	"crawl.json", "crawl.json.spare", "crawl.log", // files
}

// TestDocumentedFields: each field of the status that a document for users and operators names is
// in the contract, and so is each path of the API.
func TestDocumentedFields(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	var d openDocument
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	status := d.Components.Schemas["Status"]
	paths, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	fields, routes := 0, 0
	for _, path := range append(paths, "../README.md") {
		switch filepath.Base(path) {
		case "walks.md", "testing.md", "ownership.md", "architecture.md": // name files and functions
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fieldName.FindAllStringSubmatch(string(text), -1) {
			first, _, _ := strings.Cut(m[1], ".")
			if d.fields(status)[first] == nil || slices.Contains(noField, m[1]) {
				continue
			}
			fields++
			if !d.has(status, m[1]) {
				t.Errorf("%s: /status has no %s", path, m[1])
			}
		}
		for _, route := range routeName.FindAllString(string(text), -1) {
			if strings.HasSuffix(route, "/") { // stands for all below
				continue
			}
			routes++
			if route = strings.TrimRight(route, "."); !d.route(route) {
				t.Errorf("%s: the API has no %s", path, route)
			}
		}
	}
	if fields < 10 || routes < 10 {
		t.Errorf("%d fields and %d paths were read", fields, routes)
	}
	for _, wrong := range []string{"output.sink", "nodes.names", "crawl.limits.pages"} {
		if d.has(status, wrong) {
			t.Errorf("%s is found, which the status has not", wrong)
		}
	}
	if d.route("/api/v1/nothing") || !d.has(status, "crawl.limits.max_pages") ||
		!d.has(status, "nodes.name") {
		t.Error("fields or paths are not read")
	}
}
