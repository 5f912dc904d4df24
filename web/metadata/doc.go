// Package metadata reads what a page says of itself: title, authors, dates, type, site, image,
// licence and language, out of JSON-LD, microdata, OpenGraph, Highwire, Dublin Core and plain HTML.
//
//	tokens ─► found (values by source, as written) ─► Record (one value for each field)
//
// [Read] never fails, and makes one pass over the tokens of web/htmlparse. A value that is no value
// of its field, such as a date 0000-00-00 or an image that is no http address, counts as missing,
// so the next source is asked. All values stay in [Record.Raw] as they were written.
//
// # The main entity
//
// JSON-LD and microdata describe many things on one page. The main entity is the one that the page
// is about. Candidates are the outermost objects, those of @graph, and the mainEntity of a page.
// They have ranks: articles over other works (Product, Recipe, Event, Book ...) over recordings
// (VideoObject, AudioObject). The best rank that is there counts. If several candidates have it,
// the one counts whose url, mainEntityOfPage or @id is the page's address, the canonical one or
// og:url; else the one with the name that is og:title. If there is still more than one, and they
// differ in name, the page is a list, and has no main work. "Page" below is the WebPage of the same
// source, with its subtypes.
//
// # Precedence
//
// The first source with a value counts. "work" is the main entity, from JSON-LD before microdata;
// dc stands for both dc and dcterms. Plain names are those of meta elements.
//
//	title      work (headline, name), citation_title, og:title, dc.title, parsely-title,
//	           twitter:title, page (headline, name), <title>
//	author     work (author, creator), page, citation_author, dc.creator, parsely-author, author,
//	           article:author, book:author
//	published  work (datePublished, uploadDate, datePosted, dateCreated), article:published_time,
//	           citation_publication_date, _online_date, _date, dc.issued, dc.date.issued,
//	           book:, video:, music:release_date, parsely-pub-date, page, dc.created,
//	           dc.date.created, dc.date, pubdate, publish-date, date, created
//	modified   work (dateModified), article:modified_time, og:updated_time, dc.modified,
//	           dc.date.modified, page, last-modified (also as http-equiv), revised
//	type       work, page, og:type in words of schema.org, dc.type, any other entity, WebSite
//	site       og:site_name, WebSite (name), work or page (isPartOf, publisher), application-name,
//	           dc.publisher
//	image      work (image, thumbnailUrl), og:image, page (image, primaryImageOfPage),
//	           twitter:image, link rel=image_src
//	licence    link rel=license, a rel=license if all of the page name the same, work and page
//	           (license), dc.license, dc.rights
//	language   html lang, work and page (inLanguage), og:locale, dc.language, content-language of
//	           a meta element, then of the header
//
// # Bounds
//
// JSON-LD: a megabyte in all scripts, 20,000 values, 64 levels; a script beyond them counts as
// absent. Microdata: 1,000 items and 5,000 properties. Meta elements: 512 that are known. A
// record's JSON has at most [MaxBytes].
//
// # What it does not do
//
// It reads no RDFa, no microformats and no itemref, follows no link, and does not resolve names of
// JSON-LD by its @context: they are taken as those of schema.org. It does not judge whether what a
// page says is true.
//
// A page is hostile until proved otherwise: time is linear in its length, and every depth and
// number is bounded. The package is pure: no I/O, no clock.
package metadata
