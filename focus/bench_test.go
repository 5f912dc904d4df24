package focus

import (
	"strings"
	"testing"
)

// prose is 20 KB of English with the usual mix of words.
func prose() []byte {
	const piece = "The CREATE INDEX statement makes an index on the specified columns of a " +
		"relation. Indexes are primarily used to enhance " +
		"database performance (though inappropriate use can result in slower performance), e.g. " +
		"WHERE lower(name) = 'smith' in version 9.4; " +
		"see section 11.2 of the manual, or https://example.org/docs/lang_createindex.html for details. "
	var b strings.Builder
	for i := 0; b.Len() < 20<<10; i++ {
		b.WriteString(strings.ReplaceAll(piece, "index", "index"+string(rune('a'+i%26))))
	}
	return []byte(b.String()[:20<<10])
}

// BenchmarkScore scores a page of 20 KB of text.
func BenchmarkScore(b *testing.B) {
	m := drawn(1)
	text := prose()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		m.Score("Indexes", text)
	}
}

// BenchmarkScripts scores 20 KB of other scripts, in which characters have two and three bytes.
func BenchmarkScripts(b *testing.B) {
	for name, text := range map[string]string{
		"cyrillic": "Команда создаёт индекс по указанным столбцам таблицы, " +
			"индексы применяются для ускорения. ",
		"chinese": "创建索引语句在指定的表列上创建索引，索引主要用来提高数据库的性能。",
	} {
		b.Run(name, func(b *testing.B) {
			m := drawn(1)
			page := []byte(strings.Repeat(text, 1+20<<10/len(text)))[:20<<10]
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			for b.Loop() {
				m.Score("", page)
			}
		})
	}
}

// BenchmarkLink scores a link.
func BenchmarkLink(b *testing.B) {
	m := drawn(1)
	b.ReportAllocs()
	for b.Loop() {
		m.Follow(0.7, "how to create an index", "https://www.example.org/docs/sql/lang_createindex.html")
	}
}

// drawn is a model with random weights.
func drawn(seed uint64) *Model {
	rng := &source{seed}
	w := make([]float64, features)
	for range 40_000 {
		w[rng.next()%features] = float64(rng.next()%2000)/1000 - 1
	}
	m := quantised(w)
	m.page, m.link = curve{2, 0.1}, curve{1, 0}
	m.info.Like, m.info.Unlike, m.info.AUC, m.info.Accuracy, m.info.LinkAUC = 100, 200, 0.99, 0.95, 0.9
	m.info.For, m.info.Against = []string{"index", "create index"}, []string{"plot"}
	return m
}

// Scoring allocates nothing: it is done for each page and each link.
func TestScoringAllocatesNothing(t *testing.T) {
	m, text := drawn(1), prose()
	if n := testing.AllocsPerRun(10, func() {
		m.Follow(m.Score("a title", text), "an anchor", "http://www.example.org/path/page.html")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
