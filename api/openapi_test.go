package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"crawlnode/config"
	"crawlnode/crawl"
)

var rewrite = flag.Bool("rewrite", false, "write docs/openapi.json anew")

const committed = "../docs/openapi.json"

// TestDocumentIsCommitted checks that docs/openapi.json is the document that a node serves.
func TestDocumentIsCommitted(t *testing.T) {
	t.Parallel()
	if *rewrite {
		if err := os.WriteFile(committed, OpenAPI(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	w := ask(New(&fakeNode{}, Options{}), "GET", "/openapi.json", "")
	if w.Code != 200 || !bytes.Equal(w.Body.Bytes(), want) {
		t.Errorf("what a node serves is not %s: make generate", committed)
	}
}

// description validates JSON against the document. It refuses unknown fields, though clients have
// to accept them.
type description struct {
	tree     map[string]any
	compiler *jsonschema.Compiler
}

func describedStrictly(t *testing.T) *description {
	t.Helper()
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(OpenAPI()))
	if err != nil {
		t.Fatal(err)
	}
	closeObjects(tree)
	d := &description{tree: tree.(map[string]any), compiler: jsonschema.NewCompiler()}
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("openapi.json", tree); err != nil {
		t.Fatal(err)
	}
	return d
}

// at finds the value below some keys, nil when there is none.
func (d *description) at(keys ...string) any {
	var v any = d.tree
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

// judge validates a body against the schema below some keys.
func (d *description) judge(t *testing.T, body []byte, keys ...string) {
	t.Helper()
	pointer := "openapi.json#"
	for _, k := range keys {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(k)
	}
	schema, err := d.compiler.Compile(pointer)
	if err != nil {
		t.Fatalf("%s: %v", pointer, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%.1000s\nis not as %s says: %v", body, pointer, err)
	}
}

// closeObjects forbids undescribed fields.
func closeObjects(tree any) {
	switch x := tree.(type) {
	case map[string]any:
		if _, ok := x["properties"].(map[string]any); ok && x["type"] == "object" &&
			x["additionalProperties"] == nil {
			x["additionalProperties"] = false
		}
		for _, v := range x {
			closeObjects(v)
		}
	case []any:
		for _, v := range x {
			closeObjects(v)
		}
	}
}

// TestDocumentIsWhole checks what the specification requires besides schemas: unique ids,
// parameters for the names in braces, answers with descriptions.
func TestDocumentIsWhole(t *testing.T) {
	t.Parallel()
	d := describedStrictly(t)
	if v := d.at("openapi"); v != openAPIVersion {
		t.Errorf("openapi: %v", v)
	}
	ids := map[string]bool{}
	for _, rt := range routes() {
		path, method := strings.ReplaceAll(rt.path, "{$}", ""), strings.ToLower(rt.method)
		op, _ := d.at("paths", path, method).(map[string]any)
		id, _ := op["operationId"].(string)
		if id == "" || ids[id] || op["summary"] == "" {
			t.Errorf("%s %s: operationId %q, summary %q", method, path, id, op["summary"])
		}
		ids[id] = true
		named := map[string]bool{}
		params, _ := op["parameters"].([]any)
		for _, p := range params {
			if p := p.(map[string]any); p["in"] == "path" && p["required"] == true {
				named[p["name"].(string)] = true
			}
		}
		for rest := path; strings.Contains(rest, "{"); {
			_, rest, _ = strings.Cut(rest, "{")
			if name, _, _ := strings.Cut(rest, "}"); !named[name] {
				t.Errorf("%s %s: no parameter %s", method, path, name)
			}
		}
		responses, _ := op["responses"].(map[string]any)
		for code, r := range responses {
			if text, _ := r.(map[string]any)["description"].(string); text == "" {
				t.Errorf("%s %s: %s has no description", method, path, code)
			}
		}
		if open := op["security"] != nil; open != (rt.role() == crawl.RoleNobody) ||
			!open && responses["401"] == nil || responses[rt.success()] == nil {
			t.Errorf("%s %s: security %v, responses %v", method, path, op["security"], responses)
		}
	}
	for key := range words {
		if name, field, _ := strings.Cut(key, "."); d.at("components", "schemas", name, "properties",
			field) == nil {
			t.Errorf("%s has words and is no field", key)
		}
	}
}

// official is the schema of OpenAPI 3.1 documents by the OpenAPI Initiative. It leaves open what a
// schema is; bound here as in the Initiative's schema-base, to the meta-schema of JSON Schema
// 2020-12.
func official(t *testing.T) *jsonschema.Schema {
	t.Helper()
	const id, bound = "https://spec.openapis.org/oas/3.1/schema/2025-11-23", `{
		"$id": "https://crawlnode.test/bound", "$schema": "https://json-schema.org/draft/2020-12/schema",
		"$ref": "https://spec.openapis.org/oas/3.1/schema/2025-11-23",
		"$defs": {"schema": {"$dynamicAnchor": "meta", "$ref": "https://json-schema.org/draft/2020-12/schema"}}}`
	raw, err := os.ReadFile("testdata/openapi-3.1/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for url, text := range map[string]string{id: string(raw), "https://crawlnode.test/bound": bound} {
		tree, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err == nil {
			err = c.AddResource(url, tree)
		}
		if err != nil {
			t.Fatal(url, err)
		}
	}
	s, err := c.Compile("https://crawlnode.test/bound")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDocumentIsOpenAPI validates the document against the specification's own schema, and checks
// that the validator finds mistakes of each kind.
func TestDocumentIsOpenAPI(t *testing.T) {
	t.Parallel()
	judge := official(t)
	fresh := func() map[string]any {
		tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(OpenAPI()))
		if err != nil {
			t.Fatal(err)
		}
		return tree.(map[string]any)
	}
	if err := judge.Validate(fresh()); err != nil {
		t.Error(err)
	}
	at := func(tree map[string]any, keys ...string) map[string]any {
		for _, k := range keys {
			tree = tree[k].(map[string]any)
		}
		return tree
	}
	for what, spoil := range map[string]func(map[string]any){
		"a misspelled key of an operation": func(d map[string]any) {
			at(d, "paths", "/status", "get")["operationID"] = "x"
		},
		"a response without a description": func(d map[string]any) {
			delete(at(d, "paths", "/status", "get", "responses", "200"), "description")
		},
		"a parameter in nowhere": func(d map[string]any) {
			at(d, "paths", "/status", "get")["parameters"].([]any)[0].(map[string]any)["in"] = "body"
		},
		"no type of JSON": func(d map[string]any) {
			at(d, "components", "schemas", "Rate", "properties", "now")["type"] = "float"
		},
		"a license by two names": func(d map[string]any) {
			at(d, "info", "license")["url"] = "https://a.test/"
		},
	} {
		tree := fresh()
		spoil(tree)
		if judge.Validate(tree) == nil {
			t.Errorf("the judge takes %s", what)
		}
	}
}

// TestEverythingIsDescribed requires a description of each parameter, body, answer, schema and
// field, and none for things that do not exist.
func TestEverythingIsDescribed(t *testing.T) {
	t.Parallel()
	d := describedStrictly(t)
	described := func(v any, what string) {
		m, _ := v.(map[string]any)
		if text, _ := m["description"].(string); len(text) < 4 {
			t.Errorf("%s has no description: %q", what, text)
		}
	}
	for path, item := range d.at("paths").(map[string]any) {
		for method, op := range item.(map[string]any) {
			op, name := op.(map[string]any), method+" "+path
			params, _ := op["parameters"].([]any)
			for i, p := range params {
				described(p, fmt.Sprint(name, ", parameter ", i))
			}
			if body := op["requestBody"]; body != nil {
				described(body, name+", body")
			}
			for code, r := range op["responses"].(map[string]any) {
				described(r, name+", answer "+code)
				headers, _ := r.(map[string]any)["headers"].(map[string]any)
				for h, v := range headers {
					described(v, name+", header "+h)
				}
			}
		}
	}
	left := maps.Clone(meanings)
	for name, schema := range d.at("components", "schemas").(map[string]any) {
		described(schema, name)
		delete(left, name)
		for field, v := range schema.(map[string]any)["properties"].(map[string]any) {
			described(v, name+"."+field)
			delete(left, name+"."+field)
		}
	}
	for field, v := range d.at("components", "schemas", "CrawlChange", "properties", "settings",
		"properties").(map[string]any) {
		described(v, "a change of "+field)
	}
	for name := range left {
		t.Errorf("fields.txt describes %s, which is not there", name)
	}
}

// answers lists requests for every route, with their answers.
var answers = []struct {
	id, target, body string
	code             int
}{
	{"livez", "/livez", "", 200},
	{"readyz", "/readyz", "", 503},
	{"healthz", "/healthz", "", 503},
	{"botDirectory", "/.well-known/http-message-signatures-directory", "", 404},
	{"metrics", "/metrics", "", 200},
	{"openapi", "/openapi.json", "", 200},
	{"status", "/status", "", 200},
	{"status", "/status?scope=node", "", 200},
	{"status", "/status?format=text", "", 200},
	{"status", "/status?format=xml", "", 400},
	{"stats", "/api/v1/stats", "", 200},
	{"nodes", "/api/v1/nodes", "", 200},
	{"ring", "/api/v1/ring", "", 200},
	{"history", "/api/v1/history?span=24h", "", 200},
	{"history", "/api/v1/history?span=9h", "", 400},
	{"hosts", "/api/v1/hosts?sort=errors&limit=2", "", 200},
	{"hosts", "/api/v1/hosts?sort=x", "", 400},
	{"events", "/api/v1/events?format=json", "", 200},
	{"events", "/api/v1/events?after=x", "", 400},
	{"explainURL", "/api/v1/urls?url=http%3A%2F%2Fa%2F&depth=2", "", 200},
	{"explainURL", "/api/v1/urls?url=", "", 400},
	{"explainURL", "/api/v1/urls", "", 200},
	{
		"explainURL",
		"/api/v1/urls?state=failed&host=a.test&contains=x&match=*&status=4xx&partition=3&limit=10&after=at5&changed=true&since=7d&referrer=true",
		"",
		200,
	},
	{"explainURL", "/api/v1/urls?format=jsonl", "", 200},
	{"explainURL", "/api/v1/urls?format=csv", "", 200},
	{"describeHost", "/api/v1/hosts/a.test", "", 200},
	{"describeHost", "/api/v1/hosts/nobody.test", "", 404},
	{"analyseURL", "/api/v1/analysis/url?url=http%3A%2F%2Fa%2F", "", 200},
	{"analyseURL", "/api/v1/analysis/url", "", 400},
	{"search", "/api/v1/search?query=x&size=100", "", 200},
	{"search", "/api/v1/search?query=%20", "", 400},
	{"search", "/api/v1/search?query=x&size=101", "", 400},
	{"search", "/api/v1/search?query=off", "", 409},
	{"openSearch", "/opensearch.xml", "", 200},
	{"analyseHost", "/api/v1/analysis/host?host=a.test", "", 200},
	{"analyseHost", "/api/v1/analysis/host?host=", "", 400},
	{"analyseHost", "/api/v1/analysis/host?host=nobody.test", "", 404},
	{"captureIndex", "/api/v1/cdxj", "", 200},
	{"captures", "/api/v1/captures?url=a.org", "", 200},
	{"captures", "/api/v1/captures", "", 400},
	{"cdx", "/cdx?url=a.org", "", 200},
	{"cdx", "/cdx?url=a.org&output=json", "", 200},
	{"cdx", "/cdx?url=a.org&output=jsonl", "", 200},
	{"cdx", "/cdx?url=a.org&output=x", "", 400},
	{"capture", "/api/v1/captures/x.warc.gz/0", "", 200},
	{"capture", "/api/v1/captures/x.warc.gz/x", "", 400},
	{"addSeeds", "/api/v1/seeds", `{"urls":["http://a/",{"url":"http://b/","priority":0.5,"again":true}]}`, 200},
	{"addSeeds", "/api/v1/seeds", `{"urls":[7]}`, 200},
	{"removeSeeds", "/api/v1/seeds/remove", `{"urls":["http://a/"]}`, 200},
	{"removeSeeds", "/api/v1/seeds/remove", `{"urls":[7]}`, 200},
	{"removeSeeds", "/api/v1/seeds/remove", `{}`, 400},
	{"addSeeds", "/api/v1/seeds", `{}`, 400},
	{"addFound", "/api/v1/frontier/urls",
		`{"urls":[{"url":"http://a/"},{"url":"http://b/","priority":0.5,"source_url":"http://a/","depth":1}],"crawl_id":"x"}`,
		202},
	{"addFound", "/api/v1/frontier/urls", `{"urls":7}`, 400},
	{"nextURLs", "/api/v1/frontier/next?worker_id=w&batch_size=1000&timeout_ms=60000", "", 200},
	{"nextURLs", "/api/v1/frontier/next?worker_id=full", "", 429},
	{"nextURLs", "/api/v1/frontier/next?worker_id=", "", 400},
	{"addResults", "/api/v1/frontier/results",
		`{"lease_id":"l","results":[{"url":"http://a/","status":"success","http_status":200,"links":["x"],"simhash":"00ff"}]}`,
		200},
	{"addResults", "/api/v1/frontier/results",
		`{"lease_id":"ended","results":[{"url":"http://a/","status":"error","error":"timeout: 30 s"}]}`,
		410},
	{"addResults", "/api/v1/frontier/results", `{"results":[]}`, 400},
	{"crawlSettings", "/api/v1/crawl", "", 200},
	{"changeCrawl", "/api/v1/crawl", `{"version":"3-a","settings":{"delay":"2s","max_pages":7,"exclude":["*.zip"],"ip_delay":null}}`, 200},
	{"changeCrawl", "/api/v1/crawl", `{"settings":{"max_pages":7}}`, 400},
	{"changeCrawl", "/api/v1/crawl", `{"version":"2-a","settings":{"delay":"2s"}}`, 412},
	{"sites", "/api/v1/sites", "", 200},
	{"setSites", "/api/v1/sites", "- match: host:a.test\n  delay: 2s\n", 200},
	{"setSites", "/api/v1/sites", "- match: x\n", 400},
	{"testSites", "/api/v1/sites/test?url=http%3A%2F%2Fa.test%2F", "", 200},
	{"testSites", "/api/v1/sites/test", "", 400},
	{"trySites", "/api/v1/sites/test?url=http%3A%2F%2Fa.test%2F", "- match: host:a.test\n  retries: 1\n", 200},
	{"trySites", "/api/v1/sites/test?url=http%3A%2F%2Fa.test%2F", "x", 400},
	{"pause", "/api/v1/crawl/pause", "", 200},
	{"resume", "/api/v1/crawl/resume", "", 200},
	{"stop", "/api/v1/crawl/stop", "", 200},
	{"drainNode", "/api/v1/nodes/id-dead/drain", "", 200},
	{"drainNode", "/api/v1/nodes/id-self/drain", "", 409},
	{"stopNode", "/api/v1/nodes/id-dead/stop", "", 200},
	{"stopAllNodes", "/api/v1/nodes/stop", "", 200},
	{"forgetNode", "/api/v1/nodes/id-dead/forget", "", 200},
	{"forgetNode", "/api/v1/nodes/nobody/forget", "", 404},
	{"weighNode", "/api/v1/nodes/id-dead/weight", `{"weight":4}`, 200},
	{"weighNode", "/api/v1/nodes/nobody/weight", `{"weight":16}`, 404},
	{"weighNode", "/api/v1/nodes/id-dead/weight", `{"weight":17}`, 400},
	{"zoneNode", "/api/v1/nodes/id-dead/zone", `{"zone":"rack 7"}`, 200},
	{"zoneNode", "/api/v1/nodes/id-self/zone", `{"zone":null}`, 409},
	{"zoneNode", "/api/v1/nodes/id-dead/zone", `{"zone":7}`, 400},
	{"zoneNode", "/api/v1/nodes/id-dead/zone", `{}`, 400},
	{"zoneNode", "/api/v1/nodes/id-dead/zone", `{"zone":"rack 7 "}`, 400},
	{"zoneNode", "/api/v1/nodes/id-dead/zone", `{"zone":"a\u200bb"}`, 400},
	{"zoneNode", "/api/v1/nodes/id-dead/zone", `{"zone":"\ud800"}`, 400},
	{"audit", "/api/v1/audit?limit=5", "", 200},
	{"audit", "/api/v1/audit?limit=0", "", 400},
	{"revokeToken", "/api/v1/tokens/0123456789abcdef/revoke", "", 200},
	{"rotateKey", "/api/v1/keys/rotate", `{"key":"crawlnode-key-1:x"}`, 200},
	{"rotateKey", "/api/v1/keys/rotate", `{}`, 400},
}

// TestAnswersAreAsDescribed calls every route and validates each request and answer against the
// document.
func TestAnswersAreAsDescribed(t *testing.T) {
	t.Parallel()
	node := &fakeNode{nodes: []crawl.NodeStatus{{ID: "id-dead", Name: "n2", State: crawl.NodeFailed}}}
	fill(reflect.ValueOf(&node.status).Elem(), "Status")
	node.status.Cluster.Health.Level = crawl.HealthCritical
	node.events.add(1)
	h, d := New(node, Options{}), describedStrictly(t)
	table, asked := map[string]route{}, map[string]bool{}
	for _, rt := range routes() {
		table[rt.id] = rt
	}
	for _, a := range answers {
		asked[a.id] = true
		rt := table[a.id]
		w := ask(h, rt.method, a.target, a.body, "Content-Type: application/json")
		if w.Code != a.code {
			t.Errorf("%s %s: %d, want %d: %s", rt.method, a.target, w.Code, a.code, w.Body)
		}
		check(t, d, &rt, w)
		if a.body != "" && a.code != 400 && rt.yaml == "" && !strings.Contains(a.body, "[7]") {
			d.judge(t, []byte(a.body), "paths", rt.path, strings.ToLower(rt.method), "requestBody",
				"content", "application/json", "schema")
		}
	}
	for id := range table {
		if !asked[id] {
			t.Errorf("no answer of %s is held against the document", id)
		}
	}
	rt := table["status"]
	check(t, d, &rt, ask(New(node, Options{Access: secretOnly}), "GET", "/status", ""))
}

// TestTypesAreAsDescribed validates the JSON of a full value of each answer's type against the
// document.
func TestTypesAreAsDescribed(t *testing.T) {
	t.Parallel()
	d := describedStrictly(t)
	for _, rt := range routes() {
		if rt.reply == nil || rt.id == "openapi" {
			continue
		}
		value := reflect.New(reflect.TypeOf(rt.reply)).Elem()
		fill(value, "")
		raw, err := json.Marshal(value.Interface())
		if err != nil {
			t.Fatal(err)
		}
		d.judge(t, raw, "paths", rt.path, strings.ToLower(rt.method), "responses", rt.success(),
			"content", "application/json", "schema")
	}
}

// check requires that the document lists the answer for its route.
func check(t *testing.T, d *description, rt *route, w *httptest.ResponseRecorder) {
	t.Helper()
	kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	keys := []string{"paths", strings.ReplaceAll(rt.path, "{$}", ""), strings.ToLower(rt.method),
		"responses", fmt.Sprint(w.Code), "content", kind, "schema"}
	if d.at(keys...) == nil {
		t.Errorf("%s %s: %d %s is not in the document", rt.method, rt.path, w.Code, kind)
		return
	}
	if strings.HasSuffix(kind, "json") {
		d.judge(t, w.Body.Bytes(), keys...)
	}
}

// fill sets every field of v; name is that of the schema.
func fill(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2030, 1, 1, 0, 0, 0, 123, time.UTC)))
			return
		}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if tag == "-" {
				continue // it is in no document
			}
			fill(v.Field(i), v.Type().Name()+"."+tag)
		}
	case reflect.Slice:
		if v.Type() == settingType {
			gap := time.Second // null otherwise
			v.Set(reflect.ValueOf(config.Report(&crawl.Settings{IPDelay: &gap})))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), name)
		}
	case reflect.Map:
		if v.Type() == reflect.TypeFor[map[string]int64]() {
			v.Set(reflect.ValueOf(map[string]int64{"cloudflare": 1}))
			return
		}
		v.Set(reflect.ValueOf(map[string]any{"a": 1, "b": []string{"x"}}))
	case reflect.String:
		text := "x"
		if list := words[name]; list != nil {
			text = list[0].(string)
		}
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	}
}
