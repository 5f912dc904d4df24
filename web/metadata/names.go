package metadata

import "strings"

// plainNames are the names of meta elements that are kept, beside those with a prefix of prefixes.
// They lead to themselves, so that a name needs no memory.
var plainNames = namesOf(`
	author description keywords generator copyright rights date created creation_date pubdate
	publishdate publish-date publish_date last-modified last_modified revised application-name language
	content-language news_keywords byl creator publisher title subject abstract
	og:title og:type og:url og:image og:image:url og:image:secure_url og:image:width og:image:height
	og:image:alt og:description og:site_name og:locale og:locale:alternate og:updated_time og:video
	og:audio article:published_time article:modified_time article:author article:section article:tag
	article:publisher twitter:card twitter:site twitter:creator twitter:title twitter:description
	twitter:image twitter:image:src citation_title citation_author citation_publication_date
	citation_date citation_online_date citation_journal_title citation_doi citation_pdf_url
	citation_author_institution citation_volume citation_issue citation_firstpage citation_lastpage
	citation_issn citation_publisher citation_language citation_reference
	dc.title dc.creator dc.date dc.type dc.language dc.rights dc.publisher dc.identifier dc.description
	dc.subject dc.format dc.source dcterms.title dcterms.creator dcterms.created dcterms.modified
	dcterms.issued dcterms.date dcterms.type dcterms.language dcterms.rights dcterms.license
	dcterms.publisher dcterms.identifier`)

// prefixes begin the names of vocabularies of which all is kept.
var prefixes = []string{
	"og:", "article:", "book:", "profile:", "video:", "music:", "product:", "dc.", "dcterms.",
	"citation_", "twitter:", "parsely-", "eprints.",
}

func namesOf(list string) map[string]string {
	all := map[string]string{}
	for _, name := range strings.Fields(list) {
		all[name] = name
	}
	return all
}

// metaName is the name of a meta element as it is kept; "": it is not.
func metaName(name []byte) string {
	var buf [64]byte // longer than any that is known
	if len(name) > len(buf) {
		return ""
	}
	b := append(buf[:0], name...)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	for _, dc := range [...]string{"dc:", "dcterms:"} {
		if len(b) > len(dc) && string(b[:len(dc)]) == dc {
			b[len(dc)-1] = '.'
		}
	}
	if known := plainNames[string(b)]; known != "" {
		return known
	}
	for _, p := range prefixes {
		if len(b) > len(p) && string(b[:len(p)]) == p {
			return clean(string(b), len(buf))
		}
	}
	return ""
}

// rank says how well an entity fits to be what a page is about; the larger, the better.
type rank uint8

const (
	supporting rank = iota // what every page of a site may have
	anything               // a type that is not known here
	webPage
	recording
	work
	article
)

// ranks are the types of schema.org that are known. Names that end in Page, Article, Posting and
// Event follow from those.
var ranks = ranksOf(map[rank]string{
	article: `Article Report Thesis APIReference`,
	work: `CreativeWork Book Chapter Audiobook Recipe HowTo Product ProductGroup ProductModel
		IndividualProduct SomeProducts Vehicle Car Event Dataset SoftwareApplication MobileApplication
		WebApplication VideoGame Game SoftwareSourceCode Course CourseInstance Syllabus LearningResource
		Quiz Movie TVSeries TVSeason TVEpisode Episode PodcastEpisode PodcastSeries
		PodcastSeason RadioEpisode RadioSeries MusicRecording MusicAlbum MusicPlaylist MusicComposition
		Question Review CriticReview ClaimReview Recommendation Legislation Photograph VisualArtwork
		Painting Sculpture Map Manuscript Poster Play Drawing ShortStory
		DigitalDocument TextDigitalDocument PresentationDigitalDocument SpreadsheetDigitalDocument
		Conversation DefinedTerm MedicalCondition Drug JobPosting Guide ExercisePlan Atlas
		Collection ArchiveComponent PublicationIssue PublicationVolume Periodical`,
	webPage:   `WebPage CollectionPage Blog ItemList`,
	recording: `VideoObject AudioObject MusicVideoObject`,
	supporting: `WebSite Organization Person BreadcrumbList ImageObject ListItem SearchAction
		SiteNavigationElement WPHeader WPFooter WPSideBar WPAdBlock WebPageElement Brand Offer
		AggregateOffer AggregateRating Rating PostalAddress ContactPoint EntryPoint Comment UserComments
		NewsMediaOrganization Corporation EducationalOrganization CollegeOrUniversity
		GovernmentOrganization NGO OnlineStore OnlineBusiness OnlineService InteractionCounter Answer
		SpeakableSpecification PropertyValue MerchantReturnPolicy Language Country Thing Action`,
})

func ranksOf(lists map[rank]string) map[string]rank {
	all := map[string]rank{}
	for r, list := range lists {
		for _, name := range strings.Fields(list) {
			all[name] = r
		}
	}
	return all
}

// rankOf is the rank of a type.
func rankOf(name string) rank {
	if r, known := ranks[name]; known {
		return r
	}
	switch {
	case strings.HasSuffix(name, "Article"), strings.HasSuffix(name, "Posting"):
		return article
	case strings.HasSuffix(name, "Page"):
		return webPage
	case strings.HasSuffix(name, "Event"):
		return work
	case strings.HasSuffix(name, "Action"):
		return supporting
	}
	return anything
}

// openGraphTypes are the types of OpenGraph in words of schema.org.
var openGraphTypes = map[string]string{
	"article": "Article", "blog": "Blog", "book": "Book", "books.book": "Book",
	"music.album": "MusicAlbum", "music.playlist": "MusicPlaylist", "music.song": "MusicRecording",
	"og:product": "Product", "product": "Product", "product.group": "ProductGroup",
	"product.item": "Product", "profile": "ProfilePage", "video": "VideoObject",
	"video.episode": "TVEpisode", "video.movie": "Movie", "video.other": "VideoObject",
	"video.tv_show": "TVSeries", "website": "WebSite",
}
