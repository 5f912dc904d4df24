package api

import (
	"html/template"
	"net/http"
)

// indexText links to what a person may want to see. It has no script and needs
// none.
const indexText = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>crawlnode {{.ServedBy}}</title>
<h1>crawlnode {{.ServedBy}}</h1>
<p>Cluster {{.Cluster.Name}} is {{.Cluster.State}}: {{.Cluster.Message}}.</p>
<ul>
<li><a href="/status?format=text">Status</a> (<a href="/status">as JSON</a>, <a href="/status?scope=node">this node alone</a>)</li>
<li><a href="/api/v1/nodes">Nodes</a></li>
<li><a href="/api/v1/ring">Ring: who has which partition</a></li>
<li><a href="/metrics">Metrics</a></li>
</ul>
</html>
`

func parseIndex() *template.Template {
	return template.Must(template.New("index").Parse(indexText))
}

func (s *server) index(w http.ResponseWriter, r *http.Request) {
	st, ok := s.readStatus(w, r, false)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = s.indexPage.Execute(w, st) // the reader has gone
}
