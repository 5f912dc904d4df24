package searchquality

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"crawlnode/search/index"
	"crawlnode/web/maintext"
	"crawlnode/web/simhash"
)

// Noon is when all pages were fetched, and when the questions are asked.
var Noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// Pages reads the HTML files of all sites below dir, as the pipeline and the indexer would: the
// first folder is the host.
func Pages(dir string) ([]index.Document, error) {
	var docs []index.Document
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".html") {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return nil // a link to a file of another package
		}
		rel, _ := filepath.Rel(dir, path)
		host, rest, _ := strings.Cut(filepath.ToSlash(rel), "/")
		p := maintext.Extract(body, "text/html", "")
		d := index.Document{
			URL: "http://" + host + ".test/" + rest, Host: host + ".test", Title: p.Title,
			Headings: strings.Join(p.Headings, "\n"),
			Text:     p.Text, Description: p.Description, Language: p.Language, FetchedAt: Noon,
		}
		d.Fingerprint, _ = simhash.Fingerprint([]byte(p.Text))
		docs = append(docs, d)
		return nil
	})
	return docs, err
}

// The files that Prepare makes.
const (
	documentsFile = "documents"
	questionsFile = "questions.json"
)

// Prepare writes the pages below from, and the questions about them, into the folder to, for
// programs that measure one engine each.
func Prepare(from, to string) error {
	docs, err := Pages(from)
	if err != nil {
		return fmt.Errorf("read the pages below %s: %w", from, err)
	}
	var raw []byte
	for i := range docs {
		raw = index.AppendDocument(raw, &docs[i])
	}
	if err := os.WriteFile(filepath.Join(to, documentsFile), raw, 0o600); err != nil {
		return err
	}
	questions, err := json.MarshalIndent(Sets(docs), "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, questionsFile), questions, 0o600)
}

// maxDocument bounds the stored form of a document: far more than its fields may have.
const maxDocument = 8 << 20

// Documents calls f with the prepared documents of dir, n at a time. It holds no more than those,
// and a piece of the file.
func Documents(dir string, n int, f func([]index.Document) error) error {
	file, err := os.Open(filepath.Join(dir, documentsFile))
	if err != nil {
		return err
	}
	defer file.Close()
	var batch []index.Document
	err = parseDocuments(file, maxDocument, func(d index.Document) error {
		if batch = append(batch, d); len(batch) < n {
			return nil
		}
		full := batch
		batch = nil
		return f(full)
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", file.Name(), err)
	}
	if len(batch) == 0 {
		return nil
	}
	return f(batch)
}

// parseDocuments calls f with the documents that in has one after the other. It reads twice as much
// at a time as the largest one may have, so that what is left of the last reading is moved once for
// many of them.
func parseDocuments(in io.Reader, largest int, f func(index.Document) error) error {
	buffer := make([]byte, 2*largest)
	left, ended := buffer[:0], false
	for {
		if len(left) < largest && !ended {
			kept := copy(buffer, left)
			n, err := io.ReadFull(in, buffer[kept:])
			if ended = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); err != nil && !ended {
				return err
			}
			left = buffer[:kept+n]
		}
		if len(left) == 0 {
			return nil
		}
		d, rest, err := index.ParseDocument(left)
		if err != nil {
			return err
		}
		left = rest
		if err := f(d); err != nil {
			return err
		}
	}
}

// Questions are the prepared questions of dir.
func Questions(dir string) ([]Set, error) {
	raw, err := os.ReadFile(filepath.Join(dir, questionsFile))
	if err != nil {
		return nil, err
	}
	var sets []Set
	return sets, json.Unmarshal(raw, &sets)
}
