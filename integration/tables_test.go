package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"crawlnode/output/archive"
	"crawlnode/simweb"
)

// TestTables crawls a web with three nodes, exports it as Parquet, and has DuckDB answer: what it
// counts is what the index says, every row leads to its record, its columns are those of Common
// Crawl with preferences behind them, and each question of docs/outputs.md has an answer.
func TestTables(t *testing.T) {
	needsProcesses(t)
	duck := needsDuckDB(t)
	t.Parallel()
	web, srv := serveSimweb(t, simweb.Config{Seed: 33, Hosts: 12, PagesPerHost: 40, Skew: -1}.Quirky())
	c := simCluster(t, srv, 0, "--warc-size", "1MiB")
	c.addReady(3)
	c.converged(time.Minute)
	c.nodes[0].seed(web.Seeds()...)
	c.finished(4 * time.Minute)
	dir := t.TempDir()
	for file, table := range map[string]string{
		"captures.parquet": "captures",
		"pages.parquet":    "pages",
		"links.parquet":    "links",
	} {
		if code, _, errs := run(t, "", "export", "parquet", "--addr", c.nodes[1].http, "--table", table,
			"-o", filepath.Join(dir, file)); code != 0 {
			t.Fatalf("export %s ends with %d: %s", table, code, errs)
		}
	}
	index := exported(t, c.nodes[2])
	counts := map[string]int{}
	var places []string
	if err := archive.ReadEntries(strings.NewReader(index), func(e archive.Entry) error {
		mime := e.MIME
		if e.Revisit {
			mime = "warc/revisit"
		}
		counts[fmt.Sprint(e.Status, " ", mime)]++
		places = append(places,
			fmt.Sprint(e.URL, " ", e.At.Unix(), " ", e.Ref.File, " ", e.Ref.Offset, " ", e.Ref.Length))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	answers := duck.ask(t, dir,
		`SELECT fetch_status, coalesce(content_mime_type, ''), count(*) FROM 'captures.parquet' GROUP BY ALL`,
		`SELECT url, epoch(fetch_time)::BIGINT, warc_filename, warc_record_offset, warc_record_length FROM 'captures.parquet'`,
		`SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM 'captures.parquet')`)
	found := map[string]int{}
	for _, row := range answers[0] {
		found[row[0]+" "+row[1]], _ = strconv.Atoi(row[2])
	}
	if fmt.Sprint(found) != fmt.Sprint(counts) {
		t.Errorf("DuckDB counts %v, the index has %v", found, counts)
	}
	var rows []string
	for _, row := range answers[1] {
		rows = append(rows, strings.Join(row, " "))
	}
	slices.Sort(rows)
	slices.Sort(places)
	if !slices.Equal(rows, places) {
		t.Errorf("DuckDB has %d captures, the index has %d others", len(rows), len(places))
	}
	columnsOfCommonCrawl(t, answers[2])
	r := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		row := answers[1][r.IntN(len(answers[1]))]
		checkPlace(t, c, cdxLine{URL: row[0], Filename: row[2], Offset: row[3], Length: row[4]})
	}
	questions := documentedQuestions(t)
	for i, rows := range duck.ask(t, dir, questions...) {
		if len(rows) == 0 {
			t.Errorf("no row answers\n%s", questions[i])
		}
	}
}

// columnsOfCommonCrawl holds the table against the flat schema of cc-index-table, of November 2026:
// names, order and types.
func columnsOfCommonCrawl(t *testing.T, got [][]string) {
	t.Helper()
	want := "url_surtkey url url_host_name url_host_tld url_host_2nd_last_part " +
		"url_host_3rd_last_part url_host_4th_last_part url_host_5th_last_part url_host_registry_suffix " +
		"url_host_registered_domain url_host_private_suffix url_host_private_domain " +
		"url_host_name_reversed url_protocol url_port:INTEGER url_path url_query " +
		"fetch_time:TIMESTAMP fetch_status:SMALLINT fetch_redirect content_digest content_mime_type " +
		"content_mime_detected content_charset content_languages content_truncated " +
		"warc_record_id:BLOB warc_filename warc_record_offset:INTEGER warc_record_length:INTEGER " +
		"warc_segment crawl subset"
	var columns []string
	for _, row := range got {
		column := row[0]
		if kind := strings.TrimSuffix(row[1], " WITH TIME ZONE"); kind != "VARCHAR" {
			column += ":" + kind
		}
		columns = append(columns, column)
	}
	want += " pref_search:BOOLEAN pref_archive:BOOLEAN pref_ai_input:BOOLEAN pref_ai_train:BOOLEAN"
	if strings.Join(columns, " ") != want {
		t.Errorf("the columns are\n%s\nwant\n%s", strings.Join(columns, " "), want)
	}
}

// documentedQuestions are the queries of docs/outputs.md.
func documentedQuestions(t *testing.T) (queries []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "outputs.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```sql\n(.*?)\n```").FindAllStringSubmatch(string(text),
		-1) {
		queries = append(queries, strings.TrimSuffix(strings.TrimSpace(m[1]), ";"))
	}
	if len(queries) != 10 {
		t.Errorf("docs/outputs.md has %d questions in SQL, want 10", len(queries))
	}
	return queries
}

// duckDB is integration/duckdb, which reads Parquet files with the npm package of that name.
type duckDB struct{ node, dir string }

// needsDuckDB fails in CI, and leaves the test out elsewhere, when it is not there.
func needsDuckDB(t *testing.T) duckDB {
	t.Helper()
	dir, err := filepath.Abs("duckdb")
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "node_modules", "@duckdb", "node-api"))
	}
	if err != nil {
		unable(t, "needs node and its packages, which make deps installs: %v", err)
	}
	return duckDB{node, dir}
}

// ask answers queries over the files of a folder; values are texts.
func (d duckDB) ask(t *testing.T, dir string, queries ...string) (answers [][][]string) {
	t.Helper()
	cmd := exec.Command(d.node, filepath.Join(d.dir, "sql.mjs"))
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(strings.Join(queries, "\n--\n"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("duckdb: %v\n%s", err, out)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var answer struct {
			Rows  [][]any
			Error string
		}
		numbers := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		numbers.UseNumber()
		if err := numbers.Decode(&answer); err != nil || answer.Error != "" {
			t.Fatalf("duckdb: %v: %s\nto\n%s", err, answer.Error, queries[len(answers)])
		}
		rows := [][]string{}
		for _, r := range answer.Rows {
			row := make([]string, len(r))
			for i, v := range r {
				row[i] = fmt.Sprint(v)
			}
			rows = append(rows, row)
		}
		answers = append(answers, rows)
	}
	if len(answers) != len(queries) {
		t.Fatalf("duckdb: %d answers to %d queries: %v\n%s", len(answers), len(queries), lines.Err(), out)
	}
	return answers
}
