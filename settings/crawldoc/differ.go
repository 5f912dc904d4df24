package crawldoc

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"crawlnode/config"
	"crawlnode/crawl"
)

// Differing lists the settings that differ, by their JSON names.
func Differing(a, b *crawl.Settings) []string { return differing(a, b) }

// ChangedSettings lists the settings that differ, by the users' names.
func ChangedSettings(a, b *crawl.Settings) []string {
	return differing(config.Report(a), config.Report(b))
}

// differing lists the keys whose values differ in two JSON objects.
func differing(a, b any) []string {
	fields := func(object any) map[string]json.RawMessage {
		raw, err := json.Marshal(object)
		var m map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(raw, &m)
		}
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return m
	}
	fa, fb := fields(a), fields(b)
	names := maps.Clone(fa)
	maps.Copy(names, fb)
	maps.DeleteFunc(names, func(k string, _ json.RawMessage) bool {
		return bytes.Equal(fa[k], fb[k])
	})
	return slices.Sorted(maps.Keys(names))
}
