package api

import (
	_ "embed"
	"strings"
)

// fieldsText has the meaning of each field of the API's documents.
//
//go:embed fields.txt
var fieldsText string

// meanings are the texts of fields.txt by "Schema" and "Schema.field".
var meanings = readMeanings(fieldsText)

// readMeanings reads lines of "Schema: text", and below each "  field: text".
func readMeanings(text string) map[string]string {
	m, schema := map[string]string{}, ""
	for line := range strings.Lines(text) {
		name, what, ok := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case !ok || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "):
			m[schema+"."+name] = what
		default:
			schema = name
			m[schema] = what
		}
	}
	return m
}
