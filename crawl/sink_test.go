package crawl

import (
	"strings"
	"testing"
)

func TestParseSink(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"file:/a/b.jsonl":                  "file:/a/b.jsonl",
		"file:///a/b.jsonl":                "file:/a/b.jsonl",
		"file:events":                      "file:events",
		"kafka://a.test:9092,b.test:1/top": "kafka://a.test:9092,b.test:1/top",
		"nats://127.0.0.1:4222/crawl.x":    "nats://127.0.0.1:4222/crawl.x",
		"nats://[::1]:4222/x":              "nats://[::1]:4222/x",
	} {
		if got, err := ParseSink(text); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "is no sink", "file:": "names no file", "http://a.test:1/x": "is no sink",
		"kafka://a.test/x": "is not HOST:PORT", "kafka://a.test:1": "names no topic",
		"kafka://a.test:1/a/b": "names no topic", "nats://a.test:1/a..b": "names no subject",
		"nats://u:p@a.test:1/a": "is not HOST:PORT", "nats://a.test:1/crawl.>": "names no subject",
	} {
		if got, err := ParseSink(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
