package api

import "crawlnode/crawl"

// roles is the only table of access: a method with a path, as the mux
// knows it, and its minimum role. The server checks by it, the OpenAPI document
// shows it (x-role), and the program does not start if a path has no row.
//
// A form of the dashboard that does more than its row allows is checked when it is read: stopping
// the crawl needs what POST /api/v1/crawl/stop does.
var roles = map[string]crawl.Role{
	"GET /livez":  crawl.RoleNobody,
	"GET /readyz": crawl.RoleNobody,
	"GET /.well-known/http-message-signatures-directory": crawl.RoleNobody, // public keys

	"GET /healthz":                         crawl.RoleRead,
	"GET /metrics":                         crawl.RoleRead,
	"GET /openapi.json":                    crawl.RoleRead,
	"GET /status":                          crawl.RoleRead,
	"GET /api/v1/stats":                    crawl.RoleRead,
	"GET /api/v1/history":                  crawl.RoleRead,
	"GET /api/v1/nodes":                    crawl.RoleRead,
	"GET /api/v1/ring":                     crawl.RoleRead,
	"GET /api/v1/events":                   crawl.RoleRead,
	"GET /api/v1/urls":                     crawl.RoleRead,
	"GET /api/v1/hosts":                    crawl.RoleRead,
	"GET /api/v1/hosts/{host}":             crawl.RoleRead,
	"GET /api/v1/analysis/url":             crawl.RoleRead,
	"GET /api/v1/analysis/host":            crawl.RoleRead,
	"GET /api/v1/search":                   crawl.RoleRead,
	"GET /opensearch.xml":                  crawl.RoleRead,
	"GET /api/v1/cdxj":                     crawl.RoleRead,
	"GET /api/v1/captures":                 crawl.RoleRead,
	"GET /cdx":                             crawl.RoleRead,
	"GET /api/v1/captures/{file}/{offset}": crawl.RoleRead,
	"GET /api/v1/crawl":                    crawl.RoleRead,
	"GET /api/v1/audit":                    crawl.RoleRead,
	"GET /api/v1/sites":                    crawl.RoleRead,
	"GET /api/v1/sites/test":               crawl.RoleRead,

	"POST /api/v1/seeds":        crawl.RoleOperate,
	"POST /api/v1/seeds/remove": crawl.RoleOperate,
	"POST /api/v1/crawl/pause":  crawl.RoleOperate,
	"POST /api/v1/crawl/resume": crawl.RoleOperate,
	"POST /api/v1/sites/test":   crawl.RoleOperate, // it changes nothing, but rules take time to read

	// A worker takes part in the crawl.
	"POST /api/v1/frontier/urls":    crawl.RoleOperate,
	"GET /api/v1/frontier/next":     crawl.RoleOperate,
	"POST /api/v1/frontier/results": crawl.RoleOperate,

	"POST /api/v1/crawl/stop":         crawl.RoleAdmin,
	"PUT /api/v1/crawl":               crawl.RoleAdmin,
	"PUT /api/v1/sites":               crawl.RoleAdmin,
	"POST /api/v1/nodes/{id}/drain":   crawl.RoleAdmin,
	"POST /api/v1/nodes/{id}/forget":  crawl.RoleAdmin,
	"POST /api/v1/nodes/{id}/weight":  crawl.RoleAdmin,
	"POST /api/v1/nodes/{id}/zone":    crawl.RoleAdmin,
	"POST /api/v1/nodes/{id}/stop":    crawl.RoleAdmin,
	"POST /api/v1/nodes/stop":         crawl.RoleAdmin,
	"POST /api/v1/tokens/{id}/revoke": crawl.RoleAdmin,
	"POST /api/v1/keys/rotate":        crawl.RoleAdmin, // the node also requires the key itself

	// The dashboard.
	"GET /{$}":                 crawl.RoleRead,
	"GET /nodes":               crawl.RoleRead,
	"GET /ring":                crawl.RoleRead,
	"GET /hosts":               crawl.RoleRead,
	"GET /hosts/{host}":        crawl.RoleRead,
	"GET /urls":                crawl.RoleRead,
	"GET /events":              crawl.RoleRead,
	"GET /pages":               crawl.RoleRead,
	"GET /start":               crawl.RoleRead,
	"GET /freshness":           crawl.RoleRead,
	"GET /search":              crawl.RoleRead,
	"GET /settings":            crawl.RoleRead,
	"GET /sites":               crawl.RoleRead,
	"GET /archive":             crawl.RoleRead,
	"GET /static/{file}":       crawl.RoleRead,
	"POST /control/theme":      crawl.RoleRead, // a cookie of the asker's
	"POST /control/crawl":      crawl.RoleOperate,
	"POST /control/seeds":      crawl.RoleOperate,
	"POST /control/start":      crawl.RoleOperate, // changed settings need what PUT /api/v1/crawl does
	"POST /control/settings":   crawl.RoleAdmin,
	"POST /control/sites":      crawl.RoleAdmin,
	"POST /control/sites/test": crawl.RoleOperate, // it changes nothing
	"POST /control/nodes":      crawl.RoleAdmin,
}

// roleOf is the role of a pattern.
func roleOf(pattern string) crawl.Role {
	role, ok := roles[pattern]
	if !ok {
		panic("BUG: " + pattern + " has no row in the table of roles")
	}
	return role
}
