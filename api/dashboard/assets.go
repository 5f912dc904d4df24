package dashboard

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"time"
)

// mediaTypes are the types of the files in static.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

// assets serves the files of a folder. A browser asks each time whether its copy is current: the
// next version of the program has other files under the same names.
func assets(dir fs.FS, none http.HandlerFunc) http.Handler {
	type asset struct {
		text []byte
		etag string
	}
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	all := map[string]asset{}
	for _, e := range entries {
		text, err := fs.ReadFile(dir, e.Name())
		if err != nil {
			panic("BUG: " + err.Error())
		}
		sum := sha256.Sum256(text)
		all[e.Name()] = asset{text, `"` + hex.EncodeToString(sum[:12]) + `"`}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("file")
		a, ok := all[name]
		if !ok {
			none(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", mediaTypes[path.Ext(name)])
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", a.etag)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(a.text))
	})
}
