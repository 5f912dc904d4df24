package config

import (
	_ "embed" // reported.txt
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"crawlnode/crawl"
)

// reportedText is what the API says of settings.
//
//go:embed reported.txt
var reportedText string

// Reported describes a setting of the crawl in the API's document, crawl.SettingsReport.
type Reported struct {
	Name       string   // in the document
	Meaning    string   // one sentence or two
	Type       string   // of JSON: string, integer, number, boolean or array (of strings)
	Null       bool     // it may be null
	Words      []string // the possible values, when it is one of a few words
	Changeable bool     // while the crawl runs
}

// ReportedSettings lists the settings of the crawl in the order of the API's document.
func ReportedSettings() []Reported {
	c := Default()
	var settings []Reported
	for _, f := range reported(&c) {
		settings = append(settings, Reported{
			Name: f.key(), Meaning: f.meaning, Type: f.jsonType(),
			Null: f.value.Kind() == reflect.Pointer, Words: f.words(), Changeable: f.changeable(),
		})
	}
	return settings
}

// Report converts settings to the names and values of the command line.
func Report(s *crawl.Settings) crawl.SettingsReport {
	c := ofSettings(s, "")
	c.UserAgent = s.UserAgent // the default one too
	var report crawl.SettingsReport
	for _, f := range reported(&c) {
		report = append(report, crawl.SettingValue{Name: f.key(), Value: f.reportValue()})
	}
	return report
}

// reportedField is a setting with its text in the API's document.
type reportedField struct {
	field
	meaning string
}

// reported lists the settings of the crawl in the order of the API's document.
func reported(c *Config) []reportedField {
	rest := map[string]field{}
	for _, f := range fieldsOf(c) {
		if f.inDocument() {
			rest[f.key()] = f
		}
	}
	var fields []reportedField
	for _, row := range readReported(reportedText) {
		f, ok := rest[row.name]
		if !ok {
			panic("BUG: reported.txt describes " + row.name + ", which is no setting of the crawl")
		}
		fields = append(fields, reportedField{f, row.meaning})
		delete(rest, row.name)
	}
	for _, f := range fieldsOf(c) {
		if _, ok := rest[f.key()]; ok {
			fields = append(fields, reportedField{f, f.tag.Get("help")})
		}
	}
	return fields
}

// reportedRow is one row of reported.txt.
type reportedRow struct{ name, meaning string }

// readReported reads the rows of reported.txt.
func readReported(text string) (rows []reportedRow) {
	for line := range strings.Lines(text) {
		plain := strings.TrimSpace(line)
		name, meaning, _ := strings.Cut(plain, ": ")
		switch {
		case plain == "" || strings.HasPrefix(plain, "#"):
		case strings.HasPrefix(line, " "):
			rows[len(rows)-1].meaning += " " + plain
		default:
			rows = append(rows, reportedRow{name, meaning})
		}
	}
	return rows
}

// jsonType is the type of the setting in the API's document.
func (f field) jsonType() string {
	switch f.reportValue().(type) {
	case []string:
		return "array"
	case bool:
		return "boolean"
	case json.Number:
		if f.value.Kind() == reflect.Float64 {
			return "number"
		}
		return "integer"
	}
	return "string"
}

// reportValue is the value as crawl.SettingValue has it.
func (f field) reportValue() any {
	switch v := f.value.Interface().(type) {
	case bool:
		return v
	case time.Duration:
		if f.tag.Get("report") == "days" {
			return shortDuration(v)
		}
		return v.String()
	case *time.Duration:
		if v == nil {
			return nil
		}
		return v.String()
	case Topic:
		return v.String()
	case Sites:
		return v.String()
	case []string:
		return append([]string{}, v...) // not nil, which is null
	case []netip.Prefix:
		texts := make([]string, len(v))
		for i, p := range v {
			texts[i] = p.String()
		}
		return texts
	case int, int64, float64:
		number, err := json.Marshal(v)
		if err != nil {
			panic("BUG: --" + f.name + ": " + err.Error())
		}
		return json.Number(number)
	default:
		return fmt.Sprint(v) // words, sizes, texts
	}
}
