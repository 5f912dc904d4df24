package api

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"crawlnode/api/dashboard"
	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/web/metadata"
)

// object is a JSON object of the OpenAPI document.
type object = map[string]any

// schemas turns Go types into JSON Schemas of OpenAPI 3.1's dialect, by the struct tags that
// encoding/json reads. Structs get a name under components. A nil pointer is null, and a field is
// left out only if its tag says omitempty.
type schemas struct {
	named object
}

var (
	timeType    = reflect.TypeFor[time.Time]()
	pointsType  = reflect.TypeFor[dashboard.Points]()
	rawType     = reflect.TypeFor[json.RawMessage]()
	eitherSeed  = reflect.TypeFor[seedOrURL]()
	seedType    = reflect.TypeFor[crawl.Seed]()
	changeType  = reflect.TypeFor[crawl.CrawlChange]()
	settingType = reflect.TypeFor[crawl.SettingsReport]()
	authorsType = reflect.TypeFor[metadata.Authors]()
)

// named are the names of schemas whose types have one that says too little without its package.
var named = map[reflect.Type]string{reflect.TypeFor[metadata.Record](): "Metadata"}

// needed are the required fields of requests; in answers all fields without omitempty are required.
var needed = map[reflect.Type][]string{
	seedType:                     {"url"},
	changeType:                   {"settings"},
	reflect.TypeFor[seedsBody](): {"urls"},

	reflect.TypeFor[crawl.FoundURLs]():     {"urls"},
	reflect.TypeFor[crawl.FoundURL]():      {"url"},
	reflect.TypeFor[crawl.WorkerResults](): {"lease_id", "results"},
	reflect.TypeFor[crawl.WorkerResult]():  {"url", "status"},
}

// of returns the schema of t.
func (s *schemas) of(t reflect.Type) object {
	switch t {
	case settingType:
		return s.reference(t)
	case timeType:
		return object{"type": "string", "format": "date-time"}
	case pointsType:
		return object{"type": "array", "items": object{"type": []any{"number", "null"}}}
	case rawType:
		return object{}
	case authorsType:
		list := object{"type": "array", "items": object{"type": "string"}}
		return object{"oneOf": []any{object{"type": "string"}, list}}
	case eitherSeed:
		return object{"oneOf": []any{object{"type": "string"}, s.of(seedType)}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return orNull(s.of(t.Elem()))
	case reflect.Struct:
		return s.reference(t)
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Interface:
		return object{}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	}
	panic("BUG: no schema for " + t.String())
}

// orNull lets a schema be null as well.
func orNull(schema object) object {
	if name, ok := schema["type"].(string); ok {
		schema["type"] = []any{name, "null"}
		return schema
	}
	return object{"anyOf": []any{schema, object{"type": "null"}}}
}

// reference returns a reference to the schema of a struct, which it makes at the first call.
func (s *schemas) reference(t reflect.Type) object {
	name := cmp.Or(named[t], strings.ToUpper(t.Name()[:1])+t.Name()[1:])
	if _, ok := s.named[name]; !ok {
		s.named[name] = nil // a recursive type finds this
		var schema object
		if t == settingType {
			schema = settings()
		} else {
			schema = s.structure(t, name)
		}
		schema["description"] = meanings[name]
		s.named[name] = schema
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// structure is the schema of a struct.
func (s *schemas) structure(t reflect.Type, name string) object {
	properties, required := object{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || tag == "-" {
			continue
		}
		schema := s.of(f.Type)
		switch words := words[name+"."+tag]; {
		case mayBeNull[name+"."+tag]:
			schema = orNull(schema)
		case t == changeType && tag == "settings":
			schema = s.changes()
		case words == nil:
		case f.Type.Kind() == reflect.Pointer:
			schema["enum"] = append(append([]any{}, words...), nil)
		default:
			schema["enum"] = words
		}
		schema["description"] = meanings[name+"."+tag]
		properties[tag] = schema
		if !strings.Contains(options, "omitempty") {
			required = append(required, tag)
		}
	}
	if list, ok := needed[t]; ok {
		required = list
	}
	return object{"type": "object", "properties": properties, "required": required}
}

// settings is the schema of crawl.SettingsReport.
func settings() object {
	properties, required := object{}, []string{}
	for _, r := range config.ReportedSettings() {
		schema := object{"type": r.Type}
		if r.Type == "array" {
			schema["items"] = object{"type": "string"}
		}
		if r.Null {
			schema = orNull(schema)
		}
		schema["description"] = r.Meaning
		properties[r.Name] = schema
		required = append(required, r.Name)
	}
	return object{"type": "object", "properties": properties, "required": required}
}

// changes is the schema of a change of settings: the names of the report, with any value.
func (s *schemas) changes() object {
	properties := object{}
	for _, r := range config.ReportedSettings() {
		properties[r.Name] = object{
			"type":        []any{"string", "number", "boolean", "array", "null"},
			"items":       object{"type": "string"},
			"description": r.Meaning,
		}
	}
	return object{
		"type":                 "object",
		"properties":           properties,
		"additionalProperties": false,
		"minProperties":        1,
	}
}

// mayBeNull are lists that are null when nothing is known.
var mayBeNull = map[string]bool{"PartitionReport.in_sync": true}

// words are the possible values of fields, by the names of schema and field.
var words = map[string][]any{
	"ClusterStatus.state": {crawl.ClusterJoining, crawl.ClusterRunning, crawl.ClusterRebalancing,
		crawl.ClusterPaused, crawl.ClusterPausedMinority, crawl.ClusterDraining, crawl.ClusterFinished},
	"Health.level": {crawl.HealthOK, crawl.HealthWarn, crawl.HealthCritical},
	"NodeStatus.state": {crawl.NodeAlive, crawl.NodeSuspect, crawl.NodeDraining,
		crawl.NodeLeft, crawl.NodeFailed},
	"ChangeStatus.cause":        {crawl.CauseJoin, crawl.CauseLeave, crawl.CauseFailed},
	"CrawlStatus.state":         crawlStates,
	"CrawlReport.state":         crawlStates,
	"ActionReport.state":        crawlStates,
	"CrawlStatus.finish_reason": finishReasons,
	"CrawlReport.finish_reason": finishReasons,
	"CrawlChange.state":         crawlStates,
	"CrawlChange.finish_reason": finishReasons,
	"BottleneckStatus.cause": {crawl.BottleneckPoliteness, crawl.BottleneckFetchers,
		crawl.BottleneckCPU, crawl.BottleneckDNS, crawl.BottleneckDisk, crawl.BottleneckHandoff,
		crawl.BottleneckNothingDue, crawl.BottleneckIndex, crawl.BottleneckRender, crawl.BottleneckNone},
	"PartitionReport.state": {crawl.PartitionHeld, crawl.PartitionMoving, crawl.PartitionFrozen,
		crawl.PartitionPromoting, crawl.PartitionOffline, crawl.PartitionUnknown},
	"RobotsReport.verdict": {crawl.RobotsSaysAllowed, crawl.RobotsSaysForbidden,
		crawl.RobotsSaysUnreachable, crawl.RobotsSaysUnknown},
	"HostReport.state": {crawl.HostIdle, crawl.HostParked, crawl.HostLoading, crawl.HostWaiting,
		crawl.HostReady, crawl.HostInFlight, crawl.HostBackoff, crawl.HostFrozen, crawl.HostHeld,
		crawl.HostOverShare},
	"URLAnalysis.status": {crawl.AnalysisPending, crawl.AnalysisFetched, crawl.AnalysisError,
		crawl.AnalysisBlocked},
	"Event.level": {crawl.EventInfo, crawl.EventWarn, crawl.EventError},
}

var (
	crawlStates = []any{crawl.CrawlIdle, crawl.CrawlRunning, crawl.CrawlWaiting, crawl.CrawlPaused,
		crawl.CrawlFinished}
	finishReasons = []any{crawl.FinishExhausted, crawl.FinishMaxPages, crawl.FinishMaxDuration,
		crawl.FinishStopped}
)
