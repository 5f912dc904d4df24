package robots

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// hostile are malformed files that no person would write, by name.
func hostile() map[string][]byte {
	noise := make([]byte, 4*MaxBody)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	wide := []byte{0xff, 0xfe}
	for _, c := range utf16.Encode([]rune("User-agent: *\nDisallow: /x\n")) {
		wide = append(wide, byte(c), byte(c>>8))
	}
	const rule = "User-agent: *\nDisallow: /x\n"
	return map[string][]byte{
		"50 MB":           append([]byte(rule), bytes.Repeat([]byte("Disallow: /y\n"), 50<<20/13)...),
		"a million lines": append([]byte(rule), bytes.Repeat([]byte("\n"), 1_000_000)...),
		"a million agents": append([]byte(rule),
			bytes.Repeat([]byte("User-agent: a\n"), 1_000_000)...),
		"lines of 16 kB": append([]byte(rule),
			bytes.Repeat([]byte("Disallow: /"+strings.Repeat("y", 16<<10)+"\n"), 100)...),
		"one line": append([]byte(rule), bytes.Repeat([]byte("a"), 4*MaxBody)...),
		"stars": append([]byte(rule),
			bytes.Repeat([]byte("Disallow: /"+strings.Repeat("*y", 500)+"\n"), 1000)...),
		"escapes": append([]byte(rule),
			bytes.Repeat([]byte("Disallow: /"+strings.Repeat("%79\xff", 500)+"\n"), 1000)...),
		"colons":    append([]byte(rule), bytes.Repeat([]byte(":"), 2*MaxBody)...),
		"NUL bytes": append([]byte(rule), make([]byte, 2*MaxBody)...),
		"sitemaps": append([]byte(rule),
			bytes.Repeat([]byte("Sitemap: http://example.org/s.xml\n"), 100_000)...),
		"CR only": append([]byte("User-agent: *\rDisallow: /x\r"),
			bytes.Repeat([]byte("\r"), MaxBody)...),
		"noise":  noise,
		"UTF-16": wide,
		"HTML": []byte("<!DOCTYPE html><html>\n<head><title>Not found</title></head>\n" +
			"<body>\nUser-agent is *\n</body></html>"),
		"an image":        []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01"),
		"empty":           nil,
		"byte order mark": []byte("\uFEFF" + rule),
	}
}

// TestHostile parses files made to break a parser: the lines before the noise count, and noise
// forbids nothing. RFC 9309 requires UTF-8, so a file in UTF-16 is noise.
func TestHostile(t *testing.T) {
	noise := map[string]bool{
		"noise":    true,
		"UTF-16":   true,
		"HTML":     true,
		"an image": true,
		"empty":    true,
	}
	for name, body := range hostile() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		r := Parse(body, "crawlnode")
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if got := r.Allowed("/x"); got != noise[name] {
			t.Errorf("%s: /x allowed: %v", name, got)
		}
		if !r.Allowed("/z") || !r.Allowed("/robots.txt") {
			t.Errorf("%s: something is refused that no line names", name)
		}
		t.Logf("%-16s %8d bytes  %10v  %7.1f KiB allocated", name, len(body), took,
			float64(after.TotalAlloc-before.TotalAlloc)/1024)
		// half of it is used, a little more under the race detector
		if used := after.TotalAlloc - before.TotalAlloc; used > 48*MaxBody {
			t.Errorf("%s: %d KiB allocated", name, used/1024)
		}
	}
}

// TestReadable cuts after the last whole line.
func TestReadable(t *testing.T) {
	t.Parallel()
	line := "Disallow: /aaaaaaaa\n"
	for _, extra := range []int{-1, 0, 1, 7, len(line)} {
		body := bytes.Repeat([]byte(line), MaxBody/len(line)+3)[:MaxBody+extra]
		got := Readable(body)
		if whole := len(got)%len(line) == 0 ||
			len(body) <= MaxBody; !whole || len(got) > MaxBody || len(got) < MaxBody-len(line) {
			t.Errorf("%d bytes more than are read: %d kept, the last line %q", extra, len(got),
				got[len(got)-5:])
		}
	}
}

// TestMatchingIsLinear counts the bytes that the search for pieces reads: never more than the path
// and the pattern have together, however many stars there are.
func TestMatchingIsLinear(t *testing.T) {
	t.Parallel()
	var looked int
	index := func(s, piece string) int {
		at := strings.Index(s, piece)
		if at < 0 {
			looked += len(s)
		} else {
			looked += at + len(piece)
		}
		return at
	}
	for _, n := range []int{1, 10, 100, 1000} {
		path := "/" + strings.Repeat("a", 2*n)
		for _, pattern := range []string{
			strings.Repeat("*a", n) + "b", strings.Repeat("*a", n) + "*b$",
			"/" + strings.Repeat("*", n) + "b",
			strings.Repeat("*aa", n) + "*b", strings.Repeat("a*", n) + "b$", strings.Repeat("*a", n) + "$",
		} {
			looked = 0
			matches(path, pattern, index)
			if looked > len(path)+len(pattern) {
				t.Errorf("%d stars: %.20s...: %d bytes were looked at, of a path of %d and a pattern of %d", n,
					pattern, looked, len(path), len(pattern))
			}
		}
	}
}

// TestNormalForm lists which characters are equal and which are not.
func TestNormalForm(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "/a": "/a", "/%7E": "/~", "/%2F": "/%2F", "/%": "/%", "/%7": "/%7", "/%G1": "/%G1",
		"/%2A%24": "/%2A%24",
		"/\xe9":   "/%E9", "/%E9": "/%E9", "/%61%62": "/ab", "/%2525": "/%2525", "/%2561": "/%2561",
	} {
		if got := normalForm(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// BenchmarkParse parses files of the largest size that is read; the goal is 50 ms for each
// megabyte.
func BenchmarkParse(b *testing.B) {
	var usual bytes.Buffer
	for i := 0; usual.Len() < MaxBody; i++ {
		fmt.Fprintf(&usual,
			"User-agent: bot%d\nDisallow: /private/%d/\nAllow: /private/%d/*.html$\n# a comment\n", i%7, i,
			i)
	}
	files := hostile()
	files["usual"] = usual.Bytes()
	for _, name := range []string{"usual", "50 MB", "stars", "escapes", "a million agents",
		"lines of 16 kB", "noise"} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(min(len(files[name]), MaxBody)))
			b.ReportAllocs()
			for b.Loop() {
				Parse(files[name], "crawlnode")
			}
		})
	}
}
