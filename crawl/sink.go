package crawl

import (
	"fmt"
	"net/url"
	"strings"
)

// SinkTarget is where a sink sends to, as --sink names it.
type SinkTarget struct {
	Kind    string   // file, kafka or nats
	Servers []string // host:port; none with a file
	Name    string   // path, topic or subject
}

// ParseSink reads a target.
func ParseSink(text string) (SinkTarget, error) {
	if path, ok := strings.CutPrefix(text, "file:"); ok {
		path = strings.TrimPrefix(path, "//")
		if path == "" {
			return SinkTarget{}, fmt.Errorf("%q names no file: write file:/path/to/events.jsonl", text)
		}
		return SinkTarget{Kind: "file", Name: path}, nil
	}
	kind, rest, ok := strings.Cut(text, "://")
	if !ok || kind != "kafka" && kind != "nats" {
		return SinkTarget{}, fmt.Errorf(
			"%q is no sink: write file:PATH, kafka://HOST:PORT/TOPIC or nats://HOST:PORT/SUBJECT", text)
	}
	servers, name, _ := strings.Cut(rest, "/")
	t := SinkTarget{Kind: kind, Servers: strings.Split(servers, ","), Name: name}
	for _, s := range t.Servers {
		u, err := url.Parse("//" + s)
		if err != nil || u.Hostname() == "" || u.Port() == "" || u.User != nil {
			return SinkTarget{}, fmt.Errorf("%q: %q is not HOST:PORT", text, s)
		}
	}
	if !sinkNameable(name) {
		return SinkTarget{}, fmt.Errorf(
			"%q names no %s: write %s://HOST:PORT/NAME, with letters, digits, '.', '_' and '-'", text,
			map[string]string{"kafka": "topic", "nats": "subject"}[kind], kind)
	}
	return t, nil
}

// sinkNameable reports whether a topic or a subject may have a name.
func sinkNameable(name string) bool {
	if name == "" || len(name) > 249 || strings.Trim(name, ".") != name ||
		strings.Contains(name, "..") {
		return false
	}
	return strings.Trim(name,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

// String is the target as ParseSink reads it.
func (t SinkTarget) String() string {
	if t.Kind == "file" {
		return "file:" + t.Name
	}
	return t.Kind + "://" + strings.Join(t.Servers, ",") + "/" + t.Name
}
