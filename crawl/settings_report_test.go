package crawl

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestSettingsReportInJSON: the settings are one object, in their order, and come back as they are.
func TestSettingsReportInJSON(t *testing.T) {
	t.Parallel()
	report := SettingsReport{
		{"scope", "a<b"}, {"include", []string{}}, {"exclude", []string{"x", "y"}}, {"ip_delay", nil},
		{"max_pages", json.Number("9007199254740993")}, {"assets", true},
	}
	const want = `{"scope":"a\u003cb","include":[],"exclude":["x","y"],"ip_delay":null,` +
		`"max_pages":9007199254740993,"assets":true}`
	raw, err := json.Marshal(report)
	if err != nil || string(raw) != want {
		t.Fatalf("%s, %v", raw, err)
	}
	indented, err := json.MarshalIndent(struct{ Settings SettingsReport }{report}, " ", "  ")
	if err != nil {
		t.Fatal(err)
	}
	var back struct{ Settings SettingsReport }
	err = json.Unmarshal(indented, &back)
	if err != nil || !reflect.DeepEqual(back.Settings, report) {
		t.Errorf("%+v, %v", back.Settings, err)
	}
	for _, bad := range []string{`[]`, `null`, `"x"`, `{"scope":{}}`, `{"include":[1]}`} {
		if err := json.Unmarshal([]byte(bad), &back.Settings); err == nil {
			t.Errorf("%s is taken for %+v", bad, back.Settings)
		}
	}
	for name, text := range map[string]string{
		"scope": "a<b", "ip_delay": "", "max_pages": "9007199254740993", "none": "",
	} {
		if got := report.Text(name); got != text {
			t.Errorf("%s is %q", name, got)
		}
	}
	if len(report.List("exclude")) != 2 || report.List("scope") != nil {
		t.Errorf("lists: %q, %q", report.List("exclude"), report.List("scope"))
	}
}
