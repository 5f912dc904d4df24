package engines

import (
	"path/filepath"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search/query"

	"crawlnode/integration/searchquality"
	"crawlnode/search/analyse"
	"crawlnode/search/index"
)

// scorch is bleve's index. With its defaults a question finds pages with any of its words; tuned it
// stems English, scores by BM25, weighs fields, and asks for all words, then for words that are
// spelt nearly alike, then for any.
type scorch struct {
	x       bleve.Index
	tuned   bool
	english analysis.Analyzer
}

// entry is a document as bleve takes it.
type entry struct {
	Title       string `json:"title"`
	Headings    string `json:"headings"`
	Description string `json:"description"`
	Text        string `json:"text"`
}

// boosts are the weights of the fields.
var boosts = map[string]float64{"title": 4, "headings": 1.6, "description": 0.8, "text": 1}

func newBleve(dir string, tuned bool) (engine, error) {
	m := bleve.NewIndexMapping()
	if tuned {
		m.DefaultAnalyzer = en.AnalyzerName
		m.ScoringModel = "bm25"
		page := mapping.NewDocumentStaticMapping()
		for name := range boosts {
			field := bleve.NewTextFieldMapping()
			field.DocValues, field.IncludeInAll = false, false
			page.AddFieldMappingsAt(name, field)
		}
		m.DefaultMapping = page
	}
	x, err := bleve.New(filepath.Join(dir, "index"), m)
	return &scorch{x, tuned, m.AnalyzerNamed(en.AnalyzerName)}, err
}

func (b *scorch) add(docs []index.Document) error {
	batch := b.x.NewBatch()
	for i := range docs {
		d := &docs[i]
		if err := batch.Index(d.URL, entry{d.Title, d.Headings, d.Description, d.Text}); err != nil {
			return err
		}
	}
	return b.x.Batch(batch)
}

func (b *scorch) ask(text string) ([]searchquality.Found, error) {
	if !b.tuned {
		return b.query(bleve.NewMatchQuery(text))
	}
	var words []string
	for s := analyse.NewScanner(text); s.Next(); {
		if len(b.english.Analyze(s.Word())) > 0 { // no stop word, which no page has
			words = append(words, string(s.Word()))
		}
	}
	for _, q := range []query.Query{b.every(words, 0, true), b.every(words, 1, true),
		b.every(words, 0, false)} {
		if found, err := b.query(q); err != nil || len(found) > 0 {
			return found, err
		}
	}
	return nil, nil
}

// every asks for all words, each in any field, or for any of them; words in a row count more.
func (b *scorch) every(words []string, fuzziness int, all bool) query.Query {
	var of []query.Query
	row := ""
	for _, w := range words {
		var in []query.Query
		for name, boost := range boosts {
			q := bleve.NewMatchQuery(w)
			q.SetField(name)
			q.SetBoost(boost)
			q.SetFuzziness(fuzziness)
			in = append(in, q)
		}
		of = append(of, bleve.NewDisjunctionQuery(in...))
		row += w + " "
	}
	phrase := bleve.NewMatchPhraseQuery(row)
	phrase.SetField("text")
	phrase.SetBoost(2)
	q := bleve.NewBooleanQuery()
	if all {
		q.AddMust(of...)
	} else {
		q.AddMust(bleve.NewDisjunctionQuery(of...))
	}
	q.AddShould(phrase)
	return q
}

func (b *scorch) query(q query.Query) ([]searchquality.Found, error) {
	result, err := b.x.Search(bleve.NewSearchRequestOptions(q, 10, 0, false))
	if err != nil {
		return nil, err
	}
	var out []searchquality.Found
	for _, h := range result.Hits {
		out = append(out, searchquality.Found{URL: h.ID})
	}
	return out, nil
}

func (b *scorch) close() error { return b.x.Close() }
