package replay

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"crawlnode/output/archive"
)

// stamp is the form of the times in addresses.
const stamp = "20060102150405"

// parseStamp reads 4 to 14 digits of a time.
func parseStamp(s string) (time.Time, bool) {
	if len(s) < 4 || len(s) > len(stamp) || strings.Trim(s, "0123456789") != "" {
		return time.Time{}, false
	}
	full := s + "00000101000000"[len(s):]
	at, err := time.Parse(stamp, full)
	return at, err == nil
}

// address is the path here of a URL at a time, in characters that need no escape in HTML and CSS.
func address(at time.Time, of string) string {
	return "/web/" + at.UTC().Format(stamp) + "/" + escaped(of)
}

func escaped(of string) string {
	return strings.NewReplacer("&", "%26", "+", "%2B", "$", "%24", "=", "%3D", ":", "%3A", "@",
		"%40").Replace(url.PathEscape(of))
}

// closest is the capture that shows a URL as it was at a time: the nearest one that says something
// of the page; of others the nearest.
func closest(list []archive.Entry, at time.Time) *archive.Entry {
	var best *archive.Entry
	for i := range list {
		e := &list[i]
		switch {
		case best == nil, passing(best.Status) && !passing(e.Status):
			best = e
		case passing(e.Status) && !passing(best.Status):
		case e.At.Sub(at).Abs() <= best.At.Sub(at).Abs():
			best = e
		}
	}
	return best
}

// passing reports whether an answer says nothing of the page. A 304 does: it is shown as what it
// stands for.
func passing(status int) bool { return status == http.StatusTooManyRequests || status >= 500 }

// mementoHeaders sets the headers of RFC 7089.
func mementoHeaders(h http.Header, base string, e *archive.Entry, list []archive.Entry) {
	h.Set("Memento-Datetime", e.At.UTC().Format(http.TimeFormat))
	h.Set("Link", strings.Join(append(links(base, e.URL),
		memento(base, &list[0], "first memento"), memento(base, &list[len(list)-1], "last memento"),
		memento(base, e, "memento")), ", "))
}

// links are the original, its time gate and its time map.
func links(base, of string) []string {
	return []string{fmt.Sprintf("<%s>; rel=\"original\"", quoted(of)),
		fmt.Sprintf("<%s/web/%s>; rel=\"timegate\"", base, escaped(of)),
		fmt.Sprintf("<%s/timemap/link/%s>; rel=\"timemap\"; type=\"application/link-format\"", base,
			escaped(of))}
}

func memento(base string, e *archive.Entry, rel string) string {
	return fmt.Sprintf("<%s%s>; rel=%q; datetime=%q", base, address(e.At, e.URL), rel,
		e.At.UTC().Format(http.TimeFormat))
}

// quoted is a URL without what would end it in a Link header.
func quoted(of string) string {
	return strings.NewReplacer(">", "%3E", "<", "%3C", "\"", "%22", "\r", "", "\n", "").Replace(of)
}

// timeMap lists all captures of a URL in link format.
func timeMap(base, of string, list []archive.Entry) string {
	lines := links(base, of)
	for i := range list {
		rel := "memento"
		switch i {
		case 0:
			rel = "first memento"
		case len(list) - 1:
			rel = "last memento"
		}
		lines = append(lines, memento(base, &list[i], rel))
	}
	return strings.Join(lines, ",\n") + "\n"
}
