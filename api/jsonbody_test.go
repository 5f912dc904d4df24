package api

import (
	"strings"
	"testing"

	"crawlnode/crawl"
)

// TestErrorsOfJSON: what is wrong with a body is said in the words of JSON, without those of Go.
func TestErrorsOfJSON(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		``:                            "it is empty",
		`{"urls":[`:                   "it ends too early",
		`["http://a/"]`:               "it is the wrong kind of value (array): an object is wanted",
		`{"urls":"http://a/"}`:        "urls is the wrong kind of value (string): a list is wanted",
		`{"urls":["http://a/"]}`:      "(string): an object is wanted",
		`{"urls":[{"url":1}]}`:        "(number): a string is wanted",
		`{"urls":[{"depth":"1"}]}`:    "(string): a whole number",
		`{"urls":[{"priority":"1"}]}`: "(string): a number is wanted",
		`{"urls":[{"discovered_at":"yesterday"}]}`: `"yesterday" is not a time: write it like 2026-01-02T15:04:05Z`,
		`{"url":[]}`:    `unknown field "url"`,
		`{"urls":[]},,`: "something follows the value",
		`{"urls":]}`:    "invalid character",
	} {
		err := decodeStrict([]byte(body), &crawl.FoundURLs{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		} else if text := err.Error(); strings.Contains(text, "Go ") || strings.Contains(text, "json:") ||
			strings.Contains(text, "crawl.") {
			t.Errorf("%s: %s", body, text)
		}
	}
}
