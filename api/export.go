package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"crawlnode/api/captures"
	"crawlnode/api/plaintext"
	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/output/readback"
)

// stallTimeout ends an answer of any length when its client has stopped reading.
const stallTimeout = 2 * time.Minute

// steady writes an answer that may take hours: the deadline moves with each write.
type steady struct {
	w       http.ResponseWriter
	control *http.ResponseController
	written bool
}

func (s *steady) Write(b []byte) (int, error) {
	s.written = true
	_ = s.control.SetWriteDeadline(time.Now().Add(stallTimeout)) // a recorder in a test has none
	return s.w.Write(b)
}

// cdxj answers with the index of the whole cluster's archive.
func (s *server) cdxj(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	out := &steady{w: w, control: http.NewResponseController(w)}
	s.end(out, r, s.backend.WriteIndex(r.Context(), out))
}

// listCaptures answers with what is stored of a URL.
func (s *server) listCaptures(w http.ResponseWriter, r *http.Request) {
	url, ok := asked(w, r, "url")
	if !ok {
		return
	}
	report, err := s.backend.Captures(r.Context(), url)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, report)
}

// cdx answers as the CDX server API does.
func (s *server) cdx(w http.ResponseWriter, r *http.Request) {
	q, err := captures.Parse(r.URL.Query())
	if err != nil {
		writeProblem(w, http.StatusBadRequest, plaintext.Escape(err.Error()))
		return
	}
	w.Header().Set("Content-Type", q.ContentType())
	out := &steady{w: w, control: http.NewResponseController(w)}
	s.end(out, r, q.Write(out, func(in crawl.IndexRange, fn func(crawl.NodeRef, []byte) error) error {
		return s.backend.EachCapture(r.Context(), in, fn)
	}))
}

// capture answers with one record unchanged from its file: a gzip member or a zstd frame.
func (s *server) capture(w http.ResponseWriter, r *http.Request) {
	offset, err := strconv.ParseInt(r.PathValue("offset"), 10, 64)
	if err != nil || offset < 0 {
		writeProblem(w, http.StatusBadRequest, "the offset must be a number of bytes, not "+
			plaintext.Escape(plaintext.Cut(r.PathValue("offset"))))
		return
	}
	switch form := r.URL.Query().Get("form"); form {
	case "", "record":
	case formAnswer:
		s.answer(w, r, crawl.ArchiveReport{File: r.PathValue("file"), Offset: offset})
		return
	default:
		writeProblem(w, http.StatusBadRequest,
			"form must be record or answer, not "+plaintext.Escape(plaintext.Cut(form)))
		return
	}
	record, err := s.backend.OpenCapture(r.Context(), r.PathValue("file"), offset)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer func() { _ = record.Close() }()
	attach(w, memberType(r.PathValue("file")))
	out := &steady{w: w, control: http.NewResponseController(w)}
	_, err = io.Copy(out, record)
	s.end(out, r, err)
}

// attach sets the header of stored content, which must not be taken for a page of this server.
func attach(w http.ResponseWriter, mediaType string) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Disposition", "attachment")
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'")
}

const (
	// formAnswer is the form of a capture for programs without a reader of br and zstd.
	formAnswer = "answer"
	answerType = "application/http;msgtype=response"
	// maxAnswers is how many captures are in memory at the same time to be sent decoded; others wait.
	maxAnswers = 4
)

// answer answers with the answer in a record: its head as it was received, and its body without
// content codings.
func (s *server) answer(w http.ResponseWriter, r *http.Request, at crawl.ArchiveReport) {
	ctx, cancel := context.WithTimeout(r.Context(), holderTimeout)
	defer cancel()
	select {
	case s.answers <- struct{}{}:
		defer func() { <-s.answers }()
	case <-ctx.Done():
		s.fail(w, r, fmt.Errorf("%d captures are being decoded for others: try again", maxAnswers))
		return
	}
	source := readback.Cluster{Node: s.backend}
	var page *readback.Page
	record, err := source.Read(ctx, &at)
	if err == nil {
		page, err = readback.Of(ctx, source, record, readback.MaxContent)
	}
	if damage := (*archive.DamageError)(nil); errors.Is(err, archive.ErrNoCapture) ||
		errors.As(err, &damage) {
		writeProblem(w, http.StatusNotFound, plaintext.Escape(err.Error()))
		return
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	content, cut, err := page.Content()
	if err != nil && len(content) == 0 || len(page.Head()) == 0 {
		why := "the record has no answer of a web server"
		if err != nil {
			why = "nothing of the body can be decoded: " + plaintext.Escape(err.Error())
		}
		writeProblem(w, http.StatusNotFound, why)
		return
	}
	attach(w, answerType)
	switch {
	case cut:
		w.Header().Set("WARC-Truncated", "length")
	case err != nil || page.Record.Truncated != "":
		w.Header().Set("WARC-Truncated", "unspecified")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(page.Head())+len(content)))
	out := &steady{w: w, control: http.NewResponseController(w)}
	_, err = out.Write(page.Head())
	if err == nil {
		_, err = out.Write(content)
	}
	s.end(out, r, err)
}

// memberType is the media type of a record in the named file.
func memberType(file string) string {
	if strings.HasSuffix(file, ".zst") {
		return "application/warc+zstd"
	}
	return "application/warc+gzip"
}

// end reports an error: as a problem if nothing was written yet, otherwise by closing the
// connection, so that a client cannot take a part for the whole.
func (s *server) end(out *steady, r *http.Request, err error) {
	switch {
	case err == nil:
	case !out.written:
		s.fail(out.w, r, err)
	default:
		if r.Context().Err() == nil {
			s.log.Warn("answer interrupted", "path", r.URL.Path, "error", err)
		}
		panic(http.ErrAbortHandler)
	}
}
