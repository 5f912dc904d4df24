package crawldoc

import (
	"encoding/json"
	"maps"
	"slices"

	"crawlnode/config"
	"crawlnode/crawl"
)

// Differing lists the settings that differ, by their JSON names.
func Differing(a, b *crawl.Settings) []string {
	fields := func(s *crawl.Settings) map[string]json.RawMessage {
		raw, err := json.Marshal(s)
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
	var names []string
	for _, k := range slices.Sorted(maps.Keys(fa)) {
		if string(fa[k]) != string(fb[k]) {
			names = append(names, k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(fb)) {
		if _, ok := fa[k]; !ok {
			names = append(names, k)
		}
	}
	return names
}

// settingNames are the users' names of settings that have other names in a document.
var settingNames = map[string]string{"robots_ignore": "robots", "tls_record": "tls_verify", "archive": "store"}

// ChangedSettings lists the settings that differ, by the users' names.
func ChangedSettings(a, b *crawl.Settings) []string {
	theirs := config.Filled(b)
	own := config.Filled(a)
	names := Differing(&own, &theirs)
	for i, name := range names {
		if other, ok := settingNames[name]; ok {
			names[i] = other
		}
	}
	slices.Sort(names)
	return names
}
