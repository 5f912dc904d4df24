package engines

import (
	"database/sql"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	_ "modernc.org/sqlite" // the driver

	"crawlnode/integration/searchquality"
	"crawlnode/search/analyse"
	"crawlnode/search/index"
)

// fts5 is SQLite's index. With its defaults it keeps the text itself, and splits words at what is
// no letter or digit; tuned it stems English, keeps the documents compressed in a table beside it,
// and looks for near words first.
type fts5 struct {
	db     *sql.DB
	tuned  bool
	packer *zstd.Encoder
}

func newFTS5(dir string, tuned bool) (engine, error) {
	db, err := sql.Open("sqlite", filepath.Join(dir, "index.db"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	schema := []string{
		"CREATE VIRTUAL TABLE page USING fts5(url UNINDEXED, title, headings, description, text)"}
	if tuned {
		schema = []string{
			"PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", "PRAGMA cache_size=-32768",
			"CREATE VIRTUAL TABLE page USING fts5(url, title, headings, description, text, content='', " +
				"tokenize='porter unicode61 remove_diacritics 2')",
			"CREATE TABLE document(id INTEGER PRIMARY KEY, url TEXT UNIQUE, record BLOB)",
		}
	}
	for _, s := range schema {
		if _, err := db.Exec(s); err != nil {
			return nil, err
		}
	}
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1))
	return &fts5{db, tuned, packer}, err
}

func (f *fts5) add(docs []index.Document) error {
	tx, err := f.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing, after Commit
	for i := range docs {
		d := &docs[i]
		if !f.tuned {
			if _, err := tx.Exec("INSERT INTO page VALUES (?,?,?,?,?)", d.URL, d.Title, d.Headings,
				d.Description, d.Text); err != nil {
				return err
			}
			continue
		}
		row, err := tx.Exec("INSERT INTO document(url, record) VALUES (?,?)", d.URL,
			f.packer.EncodeAll(index.AppendDocument(nil, d), nil))
		if err != nil {
			return err
		}
		id, _ := row.LastInsertId()
		if _, err := tx.Exec(
			"INSERT INTO page(rowid, url, title, headings, description, text) VALUES (?,?,?,?,?,?)", id,
			d.URL, d.Title, d.Headings, d.Description, d.Text); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (f *fts5) ask(text string) ([]searchquality.Found, error) {
	var words []string
	for s := analyse.NewScanner(text); s.Next(); {
		words = append(words, `"`+string(s.Word())+`"`)
	}
	all := strings.Join(words, " ")
	if !f.tuned {
		return f.query("SELECT url FROM page WHERE page MATCH ? ORDER BY rank LIMIT 10", all)
	}
	const query = "SELECT d.url FROM (SELECT rowid FROM page WHERE page MATCH ? ORDER BY bm25(page, " +
		"1, 4, 1.6, 0.8, 1) LIMIT 10) p JOIN document d ON d.id = p.rowid"
	var out []searchquality.Found
	for _, match := range []string{"NEAR(" + all + ", 12)", all, strings.Join(words, " OR ")} {
		more, err := f.query(query, match)
		if err != nil {
			return nil, err
		}
		for _, m := range more {
			if !has(out, m.URL) && len(out) < 10 {
				out = append(out, m)
			}
		}
		if len(out) == 10 || len(out) > 0 && match == all {
			break
		}
	}
	return out, nil
}

func has(found []searchquality.Found, url string) bool {
	for _, f := range found {
		if f.URL == url {
			return true
		}
	}
	return false
}

func (f *fts5) query(query, match string) ([]searchquality.Found, error) {
	rows, err := f.db.Query(query, match)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []searchquality.Found
	for rows.Next() {
		var found searchquality.Found
		if err := rows.Scan(&found.URL); err != nil {
			return nil, err
		}
		out = append(out, found)
	}
	return out, rows.Err()
}

func (f *fts5) close() error { return f.db.Close() }
