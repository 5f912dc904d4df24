package s3test

import (
	"bytes"
	"crypto/md5" //nolint:gosec // what S3 uses
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The faults.
const (
	Busy      = "busy"      // 503 SlowDown
	Denied    = "denied"    // 403 AccessDenied
	Reset     = "reset"     // the connection ends before the answer
	Lost      = "lost"      // it is done, and the connection ends before the answer
	Truncated = "truncated" // half of a body that is read comes
	WrongTag  = "wrong-tag" // it is done, and the entity tag is another one
	Damaged   = "damaged"   // another body is stored
)

// Store is an object store. New makes it.
type Store struct {
	URL string
	// Fault is asked for the fault of a request; "" is none. It is called by one goroutine at a time.
	Fault func(r *http.Request) string

	mu      sync.Mutex // guards all below
	objects map[string]*object
	uploads map[string]*upload
	serial  int
	puts    map[string]int
}

type object struct {
	body []byte
	tag  string
}

type upload struct {
	key   string
	parts map[int]object
	begun time.Time
}

// New starts a store with one bucket, which has any name. cleanup is called with its end.
func New(cleanup func(func())) *Store {
	s := &Store{objects: map[string]*object{}, uploads: map[string]*upload{}, puts: map[string]int{}}
	server := httptest.NewServer(s)
	cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Objects are the bodies by key, and how often each was stored.
func (s *Store) Objects() (bodies map[string][]byte, puts map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bodies, puts = map[string][]byte{}, map[string]int{}
	for key, o := range s.objects {
		bodies[key], puts[key] = bytes.Clone(o.body), s.puts[key]
	}
	return bodies, puts
}

// Find returns the bodies of the objects whose keys end so. They must not be changed.
func (s *Store) Find(suffix string) (bodies [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, o := range s.objects {
		if strings.HasSuffix(key, suffix) {
			bodies = append(bodies, o.body)
		}
	}
	return bodies
}

// OpenUploads counts the uploads in parts that were not completed.
func (s *Store) OpenUploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.uploads)
}

// failure is an error of the protocol.
type failure struct {
	XMLName xml.Name `xml:"Error"`
	Code    string
	Message string
	status  int
}

// ServeHTTP answers a request.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if r.Header.Get("X-Amz-Decoded-Content-Length") != "" {
		body = unchunked(body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fault := ""
	if s.Fault != nil {
		fault = s.Fault(r)
	}
	switch fault {
	case Busy:
		reply(w, failure{
			Code:    "SlowDown",
			Message: "too many requests",
			status:  http.StatusServiceUnavailable,
		})
		return
	case Denied:
		reply(w, failure{Code: "AccessDenied", Message: "no permission", status: http.StatusForbidden})
		return
	case Reset:
		panic(http.ErrAbortHandler)
	case Damaged:
		body = append([]byte("damaged"), body...)[:len(body)]
	default:
		if !sound(r, body) {
			reply(w, failure{
				Code:    "BadDigest",
				Message: "the body is not what its digest says",
				status:  http.StatusBadRequest,
			})
			return
		}
	}
	answer := &recorder{header: http.Header{}, status: http.StatusOK}
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.serve(answer, r, key, body)
	switch {
	case fault == Lost:
		panic(http.ErrAbortHandler)
	case fault == WrongTag && answer.header.Get("ETag") != "":
		answer.header.Set("ETag", `"00000000000000000000000000000000"`)
	}
	for name, values := range answer.header {
		w.Header()[name] = values
	}
	if r.Method == http.MethodHead {
		w.WriteHeader(answer.status)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(answer.body.Len()))
	w.WriteHeader(answer.status)
	if fault == Truncated {
		_, _ = w.Write(answer.body.Bytes()[:answer.body.Len()/2])
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(answer.body.Bytes()) // the client has gone
}

// unchunked takes the chunks of a signed stream apart: the size in hex, a signature, and the bytes
// of each.
func unchunked(body []byte) (plain []byte) {
	for len(body) > 0 {
		head, rest, _ := bytes.Cut(body, []byte("\r\n"))
		size, _, _ := bytes.Cut(head, []byte(";"))
		n, err := strconv.ParseInt(string(size), 16, 32)
		if err != nil || int(n)+2 > len(rest) {
			return plain
		}
		plain, body = append(plain, rest[:n]...), rest[n+2:]
	}
	return plain
}

// sound compares a body with its digests.
func sound(r *http.Request, body []byte) bool {
	if want := r.Header.Get("Content-Md5"); want != "" {
		sum := md5.Sum(body) //nolint:gosec // see above
		return want == base64.StdEncoding.EncodeToString(sum[:])
	}
	return true
}

// recorder is an answer that is not sent yet.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (s *Store) serve(w *recorder, r *http.Request, key string, body []byte) {
	q := r.URL.Query()
	id := q.Get("uploadId")
	switch {
	case key == "" && q.Has("location"):
		w.xml(struct {
			XMLName xml.Name `xml:"LocationConstraint"`
		}{})
	case key == "" && q.Has("uploads"):
		s.listUploads(w, q.Get("prefix"))
	case r.Method == http.MethodPost && q.Has("uploads"):
		s.serial++
		id := fmt.Sprintf("upload-%d", s.serial)
		s.uploads[id] = &upload{key: key, parts: map[int]object{}, begun: time.Now()}
		w.xml(struct {
			XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
			Key      string
			UploadID string `xml:"UploadId"`
		}{Key: key, UploadID: id})
	case id != "" && s.uploads[id] == nil:
		w.fail(failure{Code: "NoSuchUpload", status: http.StatusNotFound})
	case id != "":
		s.serveUpload(w, r, id, body)
	case r.Method == http.MethodPut:
		s.objects[key] = &object{bytes.Clone(body), tagOf(body)}
		s.puts[key]++
		w.header.Set("ETag", `"`+s.objects[key].tag+`"`)
	case s.objects[key] == nil:
		w.fail(failure{Code: "NoSuchKey", status: http.StatusNotFound})
	default:
		s.get(w, r, s.objects[key])
	}
}

func tagOf(body []byte) string {
	sum := md5.Sum(body) //nolint:gosec // see above
	return hex.EncodeToString(sum[:])
}

// get answers HEAD and GET.
func (s *Store) get(w *recorder, r *http.Request, o *object) {
	part := o.body
	if from, to, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-"); ok {
		begin, err1 := strconv.Atoi(from)
		end, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || begin > end || begin >= len(o.body) {
			w.fail(failure{Code: "InvalidRange", status: http.StatusRequestedRangeNotSatisfiable})
			return
		}
		end = min(end, len(o.body)-1)
		part, w.status = o.body[begin:end+1], http.StatusPartialContent
		w.header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", begin, end, len(o.body)))
	}
	w.header.Set("ETag", `"`+o.tag+`"`)
	w.header.Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
	w.header.Set("Content-Length", strconv.Itoa(len(part)))
	w.body.Write(part)
}

// serveUpload answers what is asked of an upload in parts.
func (s *Store) serveUpload(w *recorder, r *http.Request, id string, body []byte) {
	u := s.uploads[id]
	switch r.Method {
	case http.MethodPut:
		n, err := strconv.Atoi(r.URL.Query().Get("partNumber"))
		if err != nil {
			w.fail(failure{Code: "InvalidArgument", status: http.StatusBadRequest})
			return
		}
		u.parts[n] = object{bytes.Clone(body), tagOf(body)}
		w.header.Set("ETag", `"`+tagOf(body)+`"`)
	case http.MethodDelete:
		delete(s.uploads, id)
		w.status = http.StatusNoContent
	case http.MethodGet:
		type part struct {
			PartNumber, Size   int
			ETag, LastModified string
		}
		list := struct {
			XMLName xml.Name `xml:"ListPartsResult"`
			Part    []part
		}{}
		for n, p := range u.parts {
			list.Part = append(list.Part,
				part{n, len(p.body), `"` + p.tag + `"`, u.begun.UTC().Format(time.RFC3339)})
		}
		w.xml(list)
	default:
		s.complete(w, id, body)
	}
}

// complete makes an object of an upload's parts.
func (s *Store) complete(w *recorder, id string, body []byte) {
	u := s.uploads[id]
	var wanted struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	if err := xml.Unmarshal(body, &wanted); err != nil || len(wanted.Part) == 0 {
		w.fail(failure{Code: "MalformedXML", status: http.StatusBadRequest})
		return
	}
	var all, sums []byte
	for _, p := range wanted.Part {
		part, ok := u.parts[p.PartNumber]
		if !ok || strings.Trim(p.ETag, `"`) != part.tag {
			w.fail(failure{Code: "InvalidPart", status: http.StatusBadRequest})
			return
		}
		all = append(all, part.body...)
		sum := md5.Sum(part.body) //nolint:gosec // see above
		sums = append(sums, sum[:]...)
	}
	tag := fmt.Sprintf("%s-%d", tagOf(sums), len(wanted.Part))
	s.objects[u.key] = &object{all, tag}
	s.puts[u.key]++
	delete(s.uploads, id)
	w.header.Set("ETag", `"`+tag+`"`)
	w.xml(struct {
		XMLName           xml.Name `xml:"CompleteMultipartUploadResult"`
		Bucket, Key, ETag string
	}{Bucket: "bucket", Key: u.key, ETag: tag})
}

func (s *Store) listUploads(w *recorder, prefix string) {
	type open struct{ Key, UploadId, Initiated string } //nolint:revive // names of the protocol
	list := struct {
		XMLName xml.Name `xml:"ListMultipartUploadsResult"`
		Upload  []open
	}{}
	for id, u := range s.uploads {
		if strings.HasPrefix(u.key, prefix) {
			list.Upload = append(list.Upload, open{u.key, id, u.begun.UTC().Format(time.RFC3339Nano)})
		}
	}
	slices.SortFunc(list.Upload,
		func(a, b open) int { return strings.Compare(a.Initiated, b.Initiated) })
	w.xml(list)
}

func (w *recorder) xml(v any) {
	w.header.Set("Content-Type", "application/xml")
	if err := xml.NewEncoder(&w.body).Encode(v); err != nil {
		panic("BUG: " + err.Error())
	}
}

func (w *recorder) fail(f failure) {
	w.status = f.status
	w.xml(f)
}

// reply answers at once.
func reply(w http.ResponseWriter, f failure) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(f.status)
	_ = xml.NewEncoder(w).Encode(f) // the client has gone
}
