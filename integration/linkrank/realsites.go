package linkrank

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

// Site is a folder of HTML pages that is served as a host.
type Site struct {
	Name, Docroot, Start string
}

// RealSites reads the links of sites on disk: the pages that can be reached from their starts.
func RealSites(sites []Site) (*Graph, error) {
	g := &Graph{Hosts: len(sites)}
	for host, site := range sites {
		if err := g.readSite(uint32(host), site); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// readSite adds the pages of a site, breadth first.
func (g *Graph) readSite(host uint32, site Site) error {
	base, err := urlnorm.Parse("http://" + site.Name + ".site.test" + site.Start)
	if err != nil {
		return err
	}
	ids := map[string]uint32{}
	var queue []urlnorm.URL
	node := func(u urlnorm.URL) uint32 {
		id, known := ids[u.Origin()+u.PathQuery()]
		if !known {
			id = uint32(len(g.Links))
			ids[u.Origin()+u.PathQuery()] = id
			g.Links, g.Host, queue = append(g.Links, nil), append(g.Host, host), append(queue, u)
			g.URLs = append(g.URLs, u.String())
		}
		return id
	}
	g.Seeds = append(g.Seeds, node(base))
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		body, contentType := read(site.Docroot, u)
		if body == nil {
			continue
		}
		page := node(u)
		for _, l := range htmlparse.Parse(body, contentType, u).Links {
			if l.Asset() || l.URL.Host() != base.Host() {
				continue
			}
			if t := node(l.URL); t != page {
				g.Links[page] = append(g.Links[page], t)
			}
		}
		slices.Sort(g.Links[page])
		g.Links[page] = slices.Compact(g.Links[page])
	}
	return nil
}

// read reads the file behind a URL; nil: it is no page.
func read(docroot string, u urlnorm.URL) (body []byte, contentType string) {
	path, err := url.PathUnescape(u.Path())
	if err != nil {
		return nil, ""
	}
	name := filepath.Join(docroot, filepath.FromSlash(path))
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, "index.html")
	}
	if !strings.HasSuffix(name, ".html") {
		return nil, ""
	}
	body, err = os.ReadFile(name)
	if err != nil {
		return nil, "" // a link that leads nowhere
	}
	return body, "text/html"
}
