package dashboard

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"

	"crawlnode/api/codes"
	"crawlnode/crawl"
)

// funcs are the functions of the templates. Figures may be pointers; nil is a dash.
var funcs = template.FuncMap{
	"count": count, "rate": rate, "bytes": byteSize, "seconds": seconds, "percent": percent,
	"portion": portion,
	"stamp":   stamp, "clock": clock,
	"rfc3339": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"words":   words, "plain": plain, "weblink": weblink, "hostpath": hostPath, "place": place,
	"pairs": pairs, "has": has, "dict": dict, "orders": func() []sortOrder { return sortOrders },
	"pages": func() []entry { return navigation }, "rows": rows, "meaning": meaning,
}

const dash = "–"

// number reads any figure, or a pointer to one.
func number(v any) (float64, bool) {
	x := reflect.ValueOf(v)
	for x.Kind() == reflect.Pointer {
		if x.IsNil() {
			return 0, false
		}
		x = x.Elem()
	}
	switch {
	case x.CanInt():
		return float64(x.Int()), true
	case x.CanUint():
		return float64(x.Uint()), true
	case x.CanFloat():
		return x.Float(), !math.IsNaN(x.Float())
	}
	return 0, false
}

// count writes a whole number with separators.
func count(v any) string {
	n, ok := number(v)
	if !ok {
		return dash
	}
	digits := strconv.FormatFloat(math.Abs(n), 'f', 0, 64)
	var b strings.Builder
	if n < 0 {
		b.WriteByte('-')
	}
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// rate writes a speed: a decimal while it is small.
func rate(v any) string {
	n, ok := number(v)
	switch {
	case !ok:
		return dash
	case n == 0:
		return "0"
	case n < 100:
		return strconv.FormatFloat(n, 'f', 1, 64)
	}
	return count(n)
}

// byteSize writes a number of bytes in binary units.
func byteSize(v any) string {
	n, ok := number(v)
	if !ok {
		return dash
	}
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if n < 1000 {
			if unit == "B" || n >= 100 {
				return strconv.FormatFloat(n, 'f', 0, 64) + " " + unit
			}
			return strconv.FormatFloat(n, 'f', 1, 64) + " " + unit
		}
		n /= 1024
	}
	return strconv.FormatFloat(n, 'f', 1, 64) + " TiB"
}

// seconds writes a span of time with the two units that matter.
func seconds(v any) string {
	n, ok := number(v)
	if !ok {
		return dash
	}
	d := time.Duration(n * float64(time.Second))
	switch {
	case n == 0:
		return "0 s"
	case n > 1e8:
		return "years"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(n*1000, 'f', 1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatFloat(n*1000, 'f', 0, 64) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(n, 'f', 1, 64) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d d %d h", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// percent writes done of total.
func percent(done, total int) string {
	if total <= 0 {
		return dash
	}
	return strconv.Itoa(100*done/total) + " %"
}

// portion writes a share of one, which may be unknown, in percent.
func portion(v any) string {
	n, ok := number(v)
	if !ok {
		return dash
	}
	return strconv.FormatFloat(100*n, 'f', 1, 64) + " %"
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return dash
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// words makes a phrase out of a code.
func words(s string) string { return strings.ReplaceAll(s, "_", " ") }

// meaning is what a code of a kind says, for its title: the same as crawlnode explain.
func meaning(kind codes.Kind, code string) string { return codes.Meaning(kind, code) }

// plain replaces characters that are misleading, or change the direction of the text around them,
// by their numbers. It takes any kind of string; nil is a dash.
func plain(v any) string {
	x := reflect.ValueOf(v)
	for x.Kind() == reflect.Pointer || x.Kind() == reflect.Interface {
		if x.IsNil() {
			return dash
		}
		x = x.Elem()
	}
	s := fmt.Sprint(v)
	if x.IsValid() {
		s = fmt.Sprint(x.Interface())
	}
	var b strings.Builder
	for _, c := range s {
		if c == unicode.ReplacementChar || unicode.IsPrint(c) || c == '\n' {
			b.WriteRune(c)
			continue
		}
		fmt.Fprintf(&b, `\u{%x}`, c)
	}
	return b.String()
}

// weblink reports whether a URL may become a link.
func weblink(v any) bool {
	s := fmt.Sprint(reflect.Indirect(reflect.ValueOf(v)))
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

func hostPath(h crawl.Host) string { return "/hosts/" + url.PathEscape(string(h)) }

// place is the API path of a capture.
func place(a *crawl.ArchiveReport) string {
	return "/api/v1/captures/" + url.PathEscape(a.File) + "/" + strconv.FormatInt(a.Offset, 10)
}

// has reports whether list names s.
func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// dict lets a template hand several values to another.
func dict(pairs ...any) (map[string]any, error) {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		key, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: key %v is not a string", pairs[i])
		}
		m[key] = pairs[i+1]
	}
	return m, nil
}

// pair is a field of an event.
type pair struct{ Name, Value string }

// pairs lists the fields of an event by name.
func pairs(fields map[string]any) []pair {
	out := make([]pair, 0, len(fields))
	for k, v := range fields {
		value := plain(v)
		if n, ok := number(v); ok && n != math.Trunc(n) {
			value = strconv.FormatFloat(n, 'f', 2, 64)
		}
		out = append(out, pair{words(k), value})
	}
	sortPairs(out)
	return out
}

// rows is the height of a field for lines.
func rows(text string) int { return min(max(strings.Count(text, "\n")+2, 2), 10) }

// sortOrder is a column by which hosts can be ordered.
type sortOrder struct{ Key, Title string }

var sortOrders = []sortOrder{
	{crawl.SortQueued, "Queued"}, {crawl.SortFetched, "Pages"}, {crawl.SortErrors, "Errors"},
	{crawl.SortBackoff, "Held back"}, {crawl.SortLatency, "Last answer"},
}

// entry is an entry of the navigation.
type entry struct{ Path, Title string }

var navigation = []entry{{"/", "Overview"}, {"/search", "Search"}, {"/pages", "URLs"},
	{"/nodes", "Nodes"}, {"/ring", "Ring"}, {"/hosts", "Hosts"}, {"/freshness", "Freshness"},
	{"/urls", "URL analyser"}, {"/events", "Events"}, {"/settings", "Settings"},
	{"/sites", "Site rules"}}
