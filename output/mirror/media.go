package mirror

// extensions are the extensions that fit a media type; the first one is added to a name that has
// none of them. Types that are not listed change no name.
var extensions = map[string][]string{
	"text/html":                {".html", ".htm"},
	"application/xhtml+xml":    {".xhtml", ".xht", ".html", ".htm"},
	"text/css":                 {".css"},
	"text/javascript":          {".js", ".mjs"},
	"application/javascript":   {".js", ".mjs"},
	"application/x-javascript": {".js", ".mjs"},
	"application/json":         {".json"},
	"application/ld+json":      {".json", ".jsonld"},
	"application/xml":          {".xml", ".rss", ".atom", ".rdf", ".xsl", ".xslt", ".xsd"},
	"text/xml":                 {".xml", ".rss", ".atom", ".rdf", ".xsl", ".xslt", ".xsd"},
	"application/rss+xml":      {".rss", ".xml"},
	"application/atom+xml":     {".atom", ".xml"},
	"application/pdf":          {".pdf"},
	"text/markdown":            {".md", ".markdown"},
	"image/png":                {".png"},
	"image/apng":               {".png", ".apng"},
	"image/jpeg":               {".jpg", ".jpeg", ".jpe"},
	"image/gif":                {".gif"},
	"image/webp":               {".webp"},
	"image/avif":               {".avif"},
	"image/svg+xml":            {".svg"},
	"image/x-icon":             {".ico"},
	"image/vnd.microsoft.icon": {".ico"},
	"font/woff":                {".woff"},
	"font/woff2":               {".woff2"},
	"font/ttf":                 {".ttf"},
	"font/otf":                 {".otf"},
	"audio/mpeg":               {".mp3"},
	"audio/ogg":                {".ogg", ".oga"},
	"video/mp4":                {".mp4", ".m4v"},
	"video/webm":               {".webm"},
	"video/ogg":                {".ogv", ".ogg"},
}

// isPage reports whether content of a media type has links that are rewritten as HTML.
func isPage(media string) bool { return media == "text/html" || media == "application/xhtml+xml" }

// isSheet reports whether it is a style sheet.
func isSheet(media string) bool { return media == "text/css" }
