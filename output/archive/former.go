package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
)

// Earlier releases sorted their indexes by another key (formerKey). Whoever reads an index sees
// today's: a line that is not of today's form is made anew when it is read, and a file that begins
// with one is sorted anew. Other programs' indexes are read so too, whatever their keys are.

// isCurrent reports whether a line, with or without its end, is of today's form, and so has today's
// key: the length is its last field.
func isCurrent(line []byte) bool {
	i := bytes.LastIndex(line, []byte(`,"`))
	return i >= 0 && bytes.HasPrefix(line[i:], []byte(`,"length":"`)) &&
		bytes.Contains(line[:i], []byte(` {"url":"`))
}

// isFormer reports whether a line without its end is that of an index with other keys. A line that
// cannot be read is not.
func isFormer(line []byte) bool { return !isCurrent(line) && !bytes.Equal(currentLine(line), line) }

// currentLine makes today's line of a line without its end. One that cannot be read stays as it is:
// whoever wants to know what it says reports it.
func currentLine(line []byte) []byte {
	if isCurrent(line) {
		return line
	}
	_, rest, _ := bytes.Cut(line, []byte(" "))
	date, fields, _ := bytes.Cut(rest, []byte(" "))
	l := indexLine{}
	if json.Unmarshal(fields, &l.indexFields) != nil || l.URL == "" {
		return line
	}
	at, err := time.Parse(indexDate, string(date))
	if err != nil {
		return line
	}
	l.key, l.date = Key(l.URL), at
	return bytes.TrimSuffix(appendIndexLine(nil, l), []byte("\n"))
}

// CurrentLines gives sorted lines of an index today's keys: those of a member of an earlier release
// are sorted anew, in nameless files in dir ("": the folder for temporary files).
func CurrentLines(dir string, lines io.Reader) (io.ReadCloser, error) {
	in := bufio.NewReaderSize(lines, readBuffer)
	first, err := in.Peek(1)
	for n := 1; err == nil && first[len(first)-1] != '\n'; {
		n = min(max(2*n, in.Buffered()), readBuffer)
		if first, err = in.Peek(n); n == readBuffer {
			break
		}
		if i := bytes.IndexByte(first, '\n'); i >= 0 {
			first = first[:i+1]
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if line, _, whole := bytes.Cut(first, []byte("\n")); !whole || !isFormer(line) {
		return io.NopCloser(in), nil
	}
	return SortedLines(dir, in)
}

// formerRange is where a file of an earlier release has the lines of a range: those of one URL, of
// the range's host, or all.
func formerRange(r crawl.IndexRange) crawl.IndexRange {
	if r.URL != "" {
		return OfKey(formerKey(r.URL))
	}
	host, _, ok := strings.Cut(r.From, ")")
	if !ok || !strings.HasPrefix(r.To, host+")") {
		return crawl.IndexRange{}
	}
	name, port, hasPort := strings.Cut(host, ":")
	if strings.Count(host, ":") > 1 { // an IPv6 address: its port looks like a part of it
		return crawl.IndexRange{From: "[", To: "\\"}
	}
	labels := strings.Split(name, ",")
	slices.Reverse(labels)
	if _, err := netip.ParseAddr(strings.Join(labels, ".")); err == nil {
		name = strings.Join(labels, ".")
	}
	if hasPort {
		name += ":" + port
	}
	return crawl.IndexRange{From: name + ")", To: name + "*"}
}

// formerKey is the key that earlier releases gave a canonical URL. Their indexes are sorted by it.
func formerKey(url string) string {
	_, rest, _ := strings.Cut(strings.ToLower(url), "://")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	path, query, _ := strings.Cut(rest[end:], "?")
	if path = strings.TrimSuffix(path, "/"); path == "" {
		path = "/"
	}
	if query != "" {
		params := strings.Split(query, "&")
		slices.Sort(params)
		path += "?" + strings.Join(params, "&")
	}
	return formerHost(rest[:end]) + ")" + strings.ReplaceAll(path, " ", "%20")
}

// formerHost reverses the labels of a host and keeps its port. IP addresses stay as they are.
func formerHost(host string) string {
	if strings.HasPrefix(host, "[") {
		return host
	}
	name, port, hasPort := strings.Cut(host, ":")
	if _, err := netip.ParseAddr(name); err == nil {
		return host
	}
	labels := strings.Split(name, ".")
	if len(labels) > 1 && strings.HasPrefix(labels[0], "www") &&
		strings.Trim(labels[0][3:], "0123456789") == "" {
		labels = labels[1:]
	}
	slices.Reverse(labels)
	name = strings.Join(labels, ",")
	if hasPort {
		return name + ":" + port
	}
	return name
}
