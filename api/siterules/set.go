package siterules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"crawlnode/config"
	"crawlnode/crawl"
)

// Backend is the node, as the rules are set.
type Backend interface {
	Sites(ctx context.Context) (text, version string, err error)
	ChangeCrawl(ctx context.Context, change crawl.CrawlChange) (crawl.CrawlReport, error)
}

// attempts is how often a change is tried while other settings change.
const attempts = 5

// Set replaces the rules, if fits says that those of now, by their crawl.SitesTag, may be.
// Otherwise the error wraps crawl.ErrChanged. The audit log gets the names of both texts.
func Set(ctx context.Context, b Backend, text string, fits func(tag string) bool) (
	report crawl.CrawlReport, err error) {
	raw, err := json.Marshal(text)
	if err != nil {
		panic("BUG: " + err.Error()) // a text
	}
	for range attempts {
		old, version, err := b.Sites(ctx)
		if err != nil {
			return report, err
		}
		crawl.NoteOf(ctx).Set(note(old), note(text))
		if !fits(crawl.SitesTag(old)) {
			return report, fmt.Errorf("%w: the rules for sites are others now: read them again",
				crawl.ErrChanged)
		}
		report, err = b.ChangeCrawl(ctx, crawl.CrawlChange{Version: version,
			Settings: map[string]json.RawMessage{"sites": raw}})
		if !errors.Is(err, crawl.ErrChanged) {
			return report, err
		}
	}
	return report, fmt.Errorf("%w: other settings are changed all the time: send it again",
		crawl.ErrChanged)
}

// note is what the audit log has of rules.
func note(text string) string {
	raw, err := json.Marshal(map[string]string{"sites": Name(text)})
	if err != nil {
		panic("BUG: " + err.Error()) // a text
	}
	return string(raw)
}

// Name stands for a text of rules in a report. It is the text itself if that has one line, such as
// such a name.
func Name(text string) string {
	if !strings.Contains(text, "\n") && len(text) <= 200 {
		return text
	}
	return config.SitesName(text)
}

// Normal makes a text of rules of the bytes that somebody sent. It ends with a line's end, by which
// it differs from the path of a file. The error is a *crawl.FieldErrors with the line.
func Normal(sent []byte) (string, error) {
	line := 1
	for rest := sent; len(rest) > 0; {
		c, size := utf8.DecodeRune(rest)
		if c == utf8.RuneError && size == 1 {
			text := fmt.Sprintf("line %d: is not UTF-8: save the file in that encoding", line)
			return "", &crawl.FieldErrors{Fields: []crawl.FieldError{{Field: "sites", Detail: text}}}
		}
		if c == '\n' {
			line++
		}
		rest = rest[size:]
	}
	text := string(sent)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text, nil
}
