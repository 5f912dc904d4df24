// Package wall recognises the answers by which a web server, or a service before it, keeps robots
// out: a challenge, a captcha, or a page that says that the visitor was taken for a robot. Such an
// answer is no page of the site: its text must not be indexed, and its links lead nowhere. It is
// pure, and it never helps to pass a wall.
//
// An answer is judged in three steps, so that an ordinary page costs a few look-ups of headers:
//
//	header that says it    cf-mitigated: challenge, x-amzn-waf-action: captcha...    a wall
//	can it be one?         status, size, media type, at most maxLinks links          else it is none
//	marks against content  the marks of one product weigh at least decides, some     a wall
//	                       of them in the page, and the page has little else
//
// Marks are looked for where they mean something: scripts and addresses of a product in tags and
// scripts, sentences in what a reader sees. A page that only talks of a challenge has its script as
// text. Without such code, or an error status, a page must have no link and few words besides.
//
// The marks of a product are rows of the table in marks.go, each with its source and date. A mark
// of the page alone, such as a script of the product, weighs too little where the product also
// measures ordinary pages. "Little else" means few words, and no field for a password or a text:
// an article about challenges, a log-in with a captcha and a comment form with one are pages, and
// so are a plain 403 and a 503 that announces maintenance. A page that asks only for a captcha, of
// a product that has no row, is a wall of Other.
//
// A Table may have a user's rows behind those of the package (ParseMarks); they are judged alike.
//
// The work is bounded: one search for all marks in at most maxBody bytes of a page that passed the
// second step, and a look at its title. Only where marks were found the words are counted.
package wall
