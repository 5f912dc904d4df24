package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"crawlnode/crawl"
)

// openAPIVersion is the version of the specification that the document follows.
const openAPIVersion = "3.1.1"

// about is the description of the API as a whole.
const about = "Any node answers for the whole cluster. Errors are application/problem+json " +
	"(RFC 9457). With a cluster key every path " +
	"but /livez and /readyz requires a token over TLS, as a Bearer token or as the password of " +
	"Basic: that of the key, which may do everything, or one made with keygen --role. x-role is " +
	"the minimum role: nobody, read, operate or admin; each includes those before it. " +
	"Without a key the API is for the " +
	"machine itself or a closed network. 503 comes with Retry-After: " +
	"the same request may be sent again without harm. Units are in the " +
	"names, times are RFC 3339 in UTC, and unknown values are null."

// document answers with the OpenAPI document of the table of routes.
func (s *server) openapi(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.document) // the client has gone
}

// OpenAPI returns the document that every node serves at /openapi.json.
func OpenAPI() []byte { return describe(routes()) }

// describe makes the document. It depends only on the table, so all nodes of a release serve the
// same.
func describe(table []route) []byte {
	types := &schemas{named: object{}}
	paths := object{}
	for _, rt := range table {
		path := strings.ReplaceAll(rt.path, "{$}", "")
		item, _ := paths[path].(object)
		if item == nil {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(rt.method)] = types.operation(&rt)
	}
	document := object{
		"openapi": openAPIVersion,
		"info": object{
			"title":       "crawlnode",
			"version":     "v1",
			"description": about,
			"license":     object{"name": "Apache 2.0", "identifier": "Apache-2.0"},
		},
		"servers":  []any{object{"url": "/", "description": "the node that was asked"}},
		"security": []any{object{}, object{"bearer": []any{}}, object{"basic": []any{}}},
		"paths":    paths,
		"components": object{
			"schemas": types.named,
			"securitySchemes": object{
				"bearer": object{
					"type":        "http",
					"scheme":      "bearer",
					"description": "the API token of the cluster's key, or a token made with it",
				},
				"basic": object{
					"type":        "http",
					"scheme":      "basic",
					"description": "any name; the API token is the password",
				},
			},
		},
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(document); err != nil {
		panic("BUG: " + err.Error())
	}
	return out.Bytes()
}

// operation describes one route.
func (s *schemas) operation(rt *route) object {
	role := rt.role()
	op := object{
		"operationId": rt.id,
		"summary":     rt.summary,
		"responses":   s.responses(rt),
		"x-role":      role.String(),
	}
	if role == crawl.RoleNobody {
		op["security"] = []any{}
	}
	if len(rt.params) > 0 {
		var list []any
		for _, p := range rt.params {
			list = append(list, s.parameter(&p))
		}
		op["parameters"] = list
	}
	if rt.body != nil {
		content := object{"application/json": object{"schema": s.of(reflect.TypeOf(rt.body))}}
		if rt.lines {
			content["text/plain"] = object{"schema": object{
				"type":        "string",
				"description": "one URL per line; empty lines and lines that begin with # are skipped",
			}}
		}
		op["requestBody"] = object{"required": true, "description": rt.takes, "content": content}
	}
	if rt.yaml != "" {
		op["requestBody"] = object{"required": true, "description": rt.yaml, "content": object{
			sitesType: object{"schema": object{"type": "string", "description": "YAML"}}}}
	}
	return op
}

func (s *schemas) parameter(p *param) object {
	schema := s.of(reflect.TypeOf(p.sample))
	if len(p.words) > 0 {
		schema["enum"] = p.words
	}
	return object{
		"name":        p.name,
		"in":          p.in,
		"description": p.what,
		"required":    p.required,
		"schema":      schema,
	}
}

// refusals are the meanings of the error statuses.
var refusals = map[int]string{
	http.StatusUnauthorized: "the cluster has a key, and the request does not carry its token",
	many: "too many failed log-ins from this address, " +
		"a valid token is still accepted; or too many leased URLs without a result, " +
		"where URLs are asked for",
	gone: "the lease has ended, or there never was one; its URLs are queued again",
	http.StatusForbidden: "the token's role is too low, a browser sent the request from another " +
		"site, or the Host header has a name that anybody could own",
	bad:      "the request is wrong; the problem says where",
	missing:  "not found",
	refused:  "the cluster's state does not allow it; the problem says why",
	changed:  "the settings have changed since they were read: read them again",
	tooLarge: "the body is too large",
	busy:     "the node cannot answer now, or does not take part; the same request may be sent again",
}

// responses are all answers of a route. A path without access check has no problem of its own
// except that the node is not ready.
func (s *schemas) responses(rt *route) object {
	ok := object{}
	switch {
	case rt.or != nil:
		ok["application/json"] = object{
			"schema": object{"oneOf": []any{s.of(reflect.TypeOf(rt.reply)), s.of(reflect.TypeOf(rt.or))}},
		}
	case rt.reply != nil:
		ok["application/json"] = object{"schema": s.of(reflect.TypeOf(rt.reply))}
	}
	for _, m := range rt.other {
		schema := object{"type": "string", "description": m.what}
		if m.binary {
			schema = object{"description": m.what}
		}
		ok[m.name] = object{"schema": schema}
	}
	answer := object{"description": rt.gives, "content": ok}
	if rt.etag {
		answer["headers"] = object{"ETag": object{
			"description": "the version, to be sent as If-Match with a change",
			"schema":      object{"type": "string"},
		}}
	}
	all := object{rt.success(): answer}
	if rt.unchanged {
		all["304"] = object{"description": "the answer is still the one with the ETag of If-None-Match"}
	}
	if rt.probe {
		all["503"] = s.unavailable(
			"this node does not take part, or something critical is wrong; see the text",
			object{
				"text/plain": object{"schema": object{"type": "string", "description": "why, in one line"}},
			})
	}
	problem := object{problemType: object{"schema": s.of(reflect.TypeFor[Problem]())}}
	var codes []int // nobody is refused where no token is needed
	if rt.role() > crawl.RoleNobody {
		codes = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}
	}
	for _, code := range append(codes, rt.errors...) {
		switch {
		case code != busy:
			all[strconv.Itoa(code)] = object{"description": refusals[code], "content": problem}
		case all["503"] == nil:
			all["503"] = s.unavailable(refusals[busy], problem)
		default:
			all["503"].(object)["content"].(object)[problemType] = problem[problemType]
		}
	}
	if rt.role() == crawl.RoleNobody {
		return all
	}
	all["default"] = object{
		"description": "any other error: an unknown path or method, or an internal error",
		"content":     problem,
	}
	return all
}

// success is the status of an answer that is no error.
func (rt *route) success() string {
	if rt.code == 0 {
		return "200"
	}
	return strconv.Itoa(rt.code)
}

func (s *schemas) unavailable(why string, content object) object {
	return object{"description": why, "content": content,
		"headers": object{"Retry-After": object{
			"description": "time to wait before the same request is sent again, in seconds",
			"schema":      object{"type": "integer", "minimum": 0},
		}}}
}
