package captures

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/output/archive"
)

// stored are the captures of the tests: URL, time, status, media type.
var stored = []string{
	"http://example.org/ 20260101000000 200 text/html",
	"https://www.example.org/ 20260301000000 301 unk",
	"http://example.org/A/ 20260201000000 200 text/html",
	"http://example.org/a/b?y=1&x=2 20260202000000 404 text/html",
	"http://example.org/ab 20260203000000 200 image/png",
	"http://example.org:8080/ 20260204000000 200 text/html",
	"http://sub.example.org/ 20260205000000 200 text/html",
	"http://example-two.org/ 20260206000000 200 text/html",
	"http://example.org/ 20260401000000 200 warc/revisit",
	"http://192.0.2.1/x 20260401000000 200 text/html",
	"http://q.test/P?b=1&a=2 20260401000000 200 text/html",
	"http://q.test//p 20260402000000 200 text/html",
	"http://q.test/px 20260403000000 200 text/html",
	"http://192.0.2.7:81/Y?u=https%3A%2F%2Fq.test%2F 20260401000000 200 text/html",
	"http://[2001:db8::1]:81/%7Ey 20260401000000 200 text/html",
	"http://q.test/?sid=9682993c8daa2c5497996114facdc805 20260401000000 200 text/html",
}

// index is what a cluster has of them, in order.
func index() Each {
	var lines []string
	for i, s := range stored {
		f := strings.Fields(s)
		lines = append(lines, fmt.Sprintf(
			`%s %s {"url":%q,"mime":%q,"status":%q,"digest":"sha1:D%d","length":"10","offset":"%d","filename":"f.warc.gz"}`,
			archive.Key(f[0]), f[1], f[0], f[3], f[2], i, i))
	}
	slices.Sort(lines)
	return func(r crawl.IndexRange, fn func(crawl.NodeRef, []byte) error) error {
		for _, l := range lines {
			if archive.InRange(r, []byte(l)) {
				if err := fn(crawl.NodeRef{}, []byte(l)); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func ask(t *testing.T, query string) string {
	t.Helper()
	v, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	q, err := Parse(v)
	if err != nil {
		return "error: " + err.Error()
	}
	var out strings.Builder
	if err := q.Write(&out, index()); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return out.String()
}

// TestMatches: which captures each question finds; numbers are places in stored, as the offsets
// are.
func TestMatches(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"url=example.org":                                            "0 1 8",
		"url=https://WWW.example.org":                                "0 1 8",
		"url=http://example.org/a":                                   "2",
		"url=example.org/a/b?x=2%26y=1":                              "3",
		"url=example.org/a/&matchType=prefix":                        "2 3",
		"url=example.org/a*":                                         "2 3 4",
		"url=example.org/*":                                          "0 1 8 2 3 4",
		"url=example.org&matchType=host":                             "0 1 8 2 3 4 5",
		"url=http://example.org/ignored&matchType=host":              "0 1 8 2 3 4 5",
		"url=example.org&matchType=domain":                           "0 1 8 2 3 4 6 5",
		"url=*.example.org":                                          "0 1 8 2 3 4 6 5",
		"url=org&matchType=domain":                                   "0 1 8 2 3 4 6 7 5",
		"url=192.0.2.1&matchType=host":                               "9",
		"url=192.0.2.7:81&matchType=host":                            "13",
		"url=192.0.2.7:81/y?u=https://q.test/":                       "13",
		"url=192.0.2.7:81/Y?u%3Dhttps%253A%252F%252Fq.test%252F":     "13",
		"url=[2001:db8::1]:81/~y":                                    "14",
		"url=[2001:db8::1]:81/*":                                     "14",
		"url=q.test/p?*":                                             "10",
		"url=q.test/p?&matchType=prefix":                             "10",
		"url=q.test/p*":                                              "11 10 12",
		"url=q.test/P/":                                              "11",
		"url=q.test":                                                 "15",
		"url=example.net":                                            "",
		"url=example.org/*&from=2026&to=202602":                      "0 2 3 4",
		"url=example.org/*&from=20260203":                            "1 8 4",
		"url=example.org/*&limit=2":                                  "0 1",
		"url=example.org/*&limit=-2":                                 "3 4",
		"url=example.org/*&filter=statuscode:200":                    "0 8 2 4",
		"url=example.org/*&filter=!status:[23]..":                    "3",
		"url=example.org/*&filter=mime:text":                         "",
		"url=example.org/*&filter=~mime:text":                        "0 2 3",
		"url=example.org/*&filter==mimetype:warc/revisit":            "8",
		"url=example.org/*&filter=status:200&filter=!mime:text/html": "8 4",
		"url=example.org/*&collapse=urlkey":                          "0 2 3 4",
		"url=example.org&collapse=timestamp:6":                       "0 1 8",
		"url=example.org&collapse=timestamp:4":                       "0",
		"url=example.org&page=1":                                     "",
	} {
		got := strings.Fields(ask(t, query+"&fl=offset"))
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
}

// TestRefused: what is wrong with a question is said by the name of the parameter.
func TestRefused(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"": "url is missing", "url=http://": "url:", "url=a&matchType=range": "matchType",
		"url=a&output=xml": "output", "url=a&limit=x": "limit", "url=a&limit=-99999": "limit",
		"url=a&from=20x": "from", "url=a&to=202601010000001": "to", "url=a&fl=who": "fl",
		"url=a&filter=status": "filter", "url=a&filter=status:(": "filter",
		"url=a&filter=who:1": "filter",
		"url=a&filter=status:" + strings.Repeat("a", maxPattern+1): "filter",
		"url=a&collapse=x": "collapse", "url=a&collapse=urlkey:x": "collapse",
		"url=a&resumeKey=*":                 "resumeKey",
		"url=a&limit=-1&showResumeKey=true": "showResumeKey", "url=a&page=-1": "page",
		"url=a" + strings.Repeat("&filter=status:1", maxFilters+1): "filters",
	} {
		if got := ask(t, query); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, want) {
			t.Errorf("%.100s: %.300s, want an error of %s", query, got, want)
		}
	}
}

// TestForms: the forms of an answer, as other servers have them.
func TestForms(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"url=example.org&limit=1": "org,example)/ " +
			"20260101000000 http://example.org/ text/html 200 D0 10\n",
		"url=example.org&limit=1&output=json": "[[\"urlkey\", " +
			"\"timestamp\", \"original\", \"mimetype\", \"statuscode\", \"digest\", \"length\"],\n" +
			"[\"org,example)/\", \"20260101000000\", \"http://example.org/\", \"text/html\", \"200\", " +
			"\"D0\", \"10\"]]\n",
		"url=example.net&output=json": "[]\n",
		"url=example.org&limit=1&output=jsonl&fl=url,key": "{\"original\": " +
			"\"http://example.org/\", \"urlkey\": \"org,example)/\"}\n",
		"url=example.org&fl=redirect,filename,offset&limit=1": "- f.warc.gz 0\n",
		"url=example.org&showNumPages=true":                   "1\n",
		"url=example.org&output=json&limit=3&showResumeKey=true&fl=offset": "[[\"offset\"],\n[\"0\"],\n" +
			"[\"1\"],\n[\"8\"]]\n",
	} {
		if got := ask(t, query); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", query, got, want)
		}
	}
}

// TestResume: the answers to questions with resume keys are together the whole answer.
func TestResume(t *testing.T) {
	t.Parallel()
	var got []string
	const query = "url=example.org&matchType=domain&fl=offset&output=json&limit=3&showResumeKey=true"
	for key := ""; ; {
		var rows [][]string
		if err := json.Unmarshal([]byte(ask(t, query+"&resumeKey="+key)), &rows); err != nil {
			t.Fatal(err)
		}
		for key = ""; len(rows) > 1; rows = rows[1:] {
			if len(rows[1]) == 0 {
				key = rows[2][0]
				break
			}
			got = append(got, rows[1][0])
		}
		if key == "" {
			break
		}
	}
	if want := strings.Fields(ask(t, "url=*.example.org&fl=offset")); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// FuzzQuery: no question breaks anything, and each is answered from its own range.
func FuzzQuery(f *testing.F) {
	f.Add("url=example.org/*&filter=~mime:a&collapse=digest:3&limit=-2&fl=urlkey")
	f.Add("url=*.[::1]:80&output=json&from=1&to=2&resumeKey=AA")
	each := index()
	f.Fuzz(func(t *testing.T, query string) {
		v, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		q, err := Parse(v)
		if err != nil {
			return
		}
		var out strings.Builder
		if err := q.Write(&out, each); err != nil {
			t.Fatal(err)
		}
		if q.output == "json" && !q.pages && !json.Valid([]byte(out.String())) {
			t.Fatalf("not JSON: %s", out.String())
		}
		r := q.Range()
		_ = each(crawl.IndexRange{}, func(_ crawl.NodeRef, line []byte) error {
			key, _, _ := strings.Cut(string(line), " ")
			if q.has(key) && q.resume == "" && !archive.InRange(r, line) {
				t.Fatalf("%q is meant, and not in %+v", line, r)
			}
			return nil
		})
	})
}
