package crawl

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestParseWebhook(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://hooks.example.org":           "https://hooks.example.org/",
		"https://hooks.example.org/":          "https://hooks.example.org/",
		"http://127.0.0.1:8080/":              "http://127.0.0.1:8080/",
		"http://[::1]:8080/?":                 "http://[::1]:8080/",
		"https://hooks.example.org/T0/secret": "https://hooks.example.org/...#7b25a6a3",
		"https://hooks.example.org/?t=secret": "https://hooks.example.org/...#5f1f0a0e",
	} {
		target, err := ParseWebhook(text)
		got := target.String()
		if digits := strings.LastIndexByte(want, '#'); digits > 0 { // which digits does not matter
			want, got = want[:digits+1], got[:min(digits+1, len(got))]
		}
		if err != nil || got != want || target.URL != text ||
			strings.Contains(target.String(), "secret") {
			t.Errorf("%s: %s, %v; want %s", text, target, err, want)
		}
		if written, err := json.Marshal(target); err != nil ||
			strings.Contains(string(written)+fmt.Sprint(target), "secret") {
			t.Errorf("it is written as %s, %v", written, err)
		}
	}
	one, _ := ParseWebhook("https://hooks.example.org/a")
	other, _ := ParseWebhook("https://hooks.example.org/b")
	if one.String() == other.String() {
		t.Errorf("two receivers have the name %s", one)
	}
}

// TestParseWebhookRefuses: what is refused is not repeated, because it may hold a password.
func TestParseWebhookRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "write the URL",
		"hunter2":                   "write the URL",
		"ftp://a.test/hunter2":      "write the URL",
		"https:///hunter2":          "write the URL",
		"https:hunter2":             "write the URL",
		"https://a.test:x/hunter2":  "write the URL",
		"https://u:hunter2@a.test/": "at a.test has a user or a password",
		"https://a.test/#hunter2":   "has a fragment",
		"https://a.test/" + strings.Repeat("hunter2", 500): "at most 2048 bytes",
	} {
		if target, err := ParseWebhook(text); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.60q: %v, %v", text, target, err)
		}
	}
}
