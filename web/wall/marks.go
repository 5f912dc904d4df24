package wall

// row has the marks of one product. Titles are in lower case and compared from the beginning, code
// and says as they stand. Of the titles the heaviest counts, of the hints one, with a weight of 1,
// and an error status weighs 1. So what ordinary pages of the product's customers have as well
// weighs 1 or nothing.
type row struct {
	product  Product
	outright []field // each says alone that the answer is a wall
	hints    []field // the product is in the way, which says little
	titles   []mark
	code     []mark // in tags and scripts
	says     []mark // in what a reader sees
	source   string // where the answers of the product are described
	date     string // when the row was written
}

// field is a header field in its canonical form, and how its value begins; "": any value.
type field struct{ name, value string }

type mark struct {
	text   string
	weight int
}

// detectors describes the answers of many firewalls.
const detectors = "https://github.com/EnableSecurity/wafw00f (wafw00f/plugins)"

// table has a row for each product.
var table = [...]row{
	{product: Cloudflare,
		outright: []field{{"Cf-Mitigated", "challenge"}},
		hints:    []field{{"Server", "cloudflare"}, {"Cf-Ray", ""}},
		titles: []mark{
			{"just a moment...", 2}, {"attention required! | cloudflare", 3},
			{"please wait... | cloudflare", 3}, {"access denied | ", 1},
		},
		code: []mark{
			{"_cf_chl_opt", 2}, {"cf-browser-verification", 2}, {"cf-error-details", 1},
			{"/cdn-cgi/styles/challenges.css", 2}, {"/orchestrate/chl_page/", 3},
			{"challenge-error-text", 1},
		},
		says: []mark{
			{"Sorry, you have been blocked", 1}, {"used Cloudflare to restrict access", 2},
			{"error code: 1006", 2}, {"error code: 1007", 2}, {"error code: 1008", 2},
			{"error code: 1010", 2}, {"error code: 1015", 2}, {"error code: 1020", 2},
		},
		source: "https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response/",
		date:   "2026-11-29"},
	{product: Akamai,
		hints: []field{
			{"Server", "AkamaiGHost"}, {"Server", "AkamaiNetStorage"}, {"Akamai-Grn", ""},
			{"X-Akamai-Transformed", ""},
		},
		titles: []mark{{"access denied", 1}, {"challenge validation", 1}},
		code: []mark{
			{"sec-if-cpt-container", 3}, {"sec-cpt-if", 2}, {"/_sec/cp_challenge/", 3},
			{"bm-verify=", 2}, {"/_sec/verify?provider=interstitial", 3},
		},
		says:   []mark{{"errors.edgesuite.net", 2}, {"Reference&#32;&#35;", 1}},
		source: detectors + ", kona",
		date:   "2026-11-29"},
	{product: Imperva,
		hints: []field{{"X-Iinfo", ""}, {"X-Cdn", "Imperva"}, {"X-Cdn", "Incapsula"}},
		code:  []mark{{"/_Incapsula_Resource?SWUDNSAI=", 3}, {"/_Incapsula_Resource?", 1}},
		says: []mark{
			{"Incapsula incident ID", 2}, {"Request unsuccessful. Incapsula", 3},
			{"Powered By Incapsula", 2}, {"Pardon Our Interruption", 2},
			{"This request was blocked by our security service", 2}, {"Powered by Imperva", 1},
		},
		source: detectors + ", incapsula, imperva",
		date:   "2026-11-29"},
	{product: DataDome,
		hints: []field{{"X-Datadome", ""}, {"X-Dd-B", ""}, {"Server", "DataDome"}},
		code: []mark{
			{"geo.captcha-delivery.com", 3}, {"ct.captcha-delivery.com", 2},
			{"interstitial.captcha-delivery.com", 3}, {"var dd={'rt':", 2},
		},
		source: "https://docs.datadome.co/docs/faqs",
		date:   "2026-11-29"},
	{product: Human,
		hints:  []field{{"X-Px-Blocked", ""}},
		titles: []mark{{"access to this page has been denied", 2}, {"human verification", 1}},
		code: []mark{
			{"id=\"px-captcha\"", 2}, {"window._pxAppId", 1}, {"captcha.px-cdn.net", 2},
			{"captcha.perimeterx.net", 2}, {"\"blockScript\"", 2},
		},
		says: []mark{
			{"perimeterx.com/whywasiblocked", 3}, {"believe you are using automation tools", 2},
		},
		source: detectors + ", perimeterx",
		date:   "2026-11-29"},
	{product: AWSWAF,
		outright: []field{{"X-Amzn-Waf-Action", "challenge"}, {"X-Amzn-Waf-Action", "captcha"}},
		hints:    []field{{"Server", "CloudFront"}},
		titles:   []mark{{"human verification", 1}},
		code:     []mark{{"window.gokuProps", 2}, {".awswaf.com/", 1}, {"AwsWafIntegration.", 1}},
		says:     []mark{{"Request blocked. We can't connect to the server for this app", 2}},
		source:   "https://docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-how-it-works.html",
		date:     "2026-11-29"},
	{product: Anubis,
		titles: []mark{
			{"making sure you're not a bot!", 2}, {"making sure you&#39;re not a bot!", 2},
			{"oh noes!", 1},
		},
		code: []mark{
			{"/.within.website/x/cmd/anubis/", 2}, {"id=\"anubis_challenge\"", 3},
			{"id=\"anubis_version\"", 1}, {"id=\"preact_info\"", 1},
		},
		source: "https://github.com/TecharoHQ/anubis (docs/docs/design/how-anubis-works.mdx)",
		date:   "2026-11-29"},
	{product: Sucuri,
		hints: []field{{"Server", "Sucuri"}, {"X-Sucuri-Id", ""}, {"X-Sucuri-Block", ""}},
		titles: []mark{
			{"sucuri website firewall", 3}, {"you are being redirected...", 1},
			{"access denied - sucuri website firewall", 3},
		},
		code: []mark{{"sucuri_cloudproxy_js", 3}},
		says: []mark{
			{"Sucuri WebSite Firewall - Access Denied", 3},
			{"Access Denied - Sucuri Website Firewall", 3}, {"cloudproxy@sucuri.net", 2},
		},
		source: detectors + ", sucuri",
		date:   "2026-11-29"},
	{product: Kasada,
		hints: []field{{"X-Kpsdk-Ct", ""}, {"X-Kpsdk-R", ""}},
		code: []mark{
			{"window.KPSDK", 3},
			{"/149e9513-01fa-4fb0-aad4-566afd725d1b/2d206a39-8ed7-437e-a3be-862e0f06eea3/", 3},
		},
		source: "https://github.com/TheWebScrapingClub/webscraping-from-0-to-hero " +
			"(Pages/Antibot/Kasada.md)",
		date: "2026-11-29"},
	{product: F5,
		hints:  []field{{"Server", "BigIP"}, {"Server", "BIG-IP"}, {"X-Wa-Info", ""}},
		titles: []mark{{"request rejected", 1}},
		code:   []mark{{"/TSPD/", 1}, {"window[\"bobcmn\"]", 3}, {"bobcmn", 1}},
		says: []mark{
			{"The requested URL was rejected. Please consult with your administrator.", 1},
			{"Your support ID is", 1},
		},
		source: detectors + ", f5bigipasm",
		date:   "2026-11-29"},
	{product: Fastly,
		hints:  []field{{"X-Served-By", "cache-"}, {"Server", "Varnish"}},
		titles: []mark{{"client challenge", 2}},
		code:   []mark{{"/_fs-ch-", 1}},
		says:   []mark{{"Please enable JavaScript to proceed.", 1}},
		source: "https://www.fastly.com/documentation/guides/security/client-challenges/how-client-challenges-work",
		date:   "2026-11-29"},
	{product: Vercel,
		outright: []field{{"X-Vercel-Mitigated", "challenge"}, {"X-Vercel-Mitigated", "deny"}},
		hints:    []field{{"Server", "Vercel"}},
		titles:   []mark{{"vercel security checkpoint", 3}},
		code:     []mark{{"/.well-known/vercel/security/", 2}},
		source:   "https://vercel.com/docs/vercel-firewall/attack-challenge-mode",
		date:     "2026-11-29"},
	{product: Reblaze,
		hints: []field{{"Server", "Reblaze Secure Web Gateway"}, {"X-Reblaze-Protection", ""}},
		code:  []mark{{"rbzns.challdomain", 3}, {"window.rbzns", 2}},
		says: []mark{
			{"Current session has been terminated", 1},
			{"For further information, do not hesitate to contact us", 1},
		},
		source: detectors + ", reblaze",
		date:   "2026-11-29"},
	{product: Radware,
		hints: []field{{"X-Sl-Compstate", ""}},
		titles: []mark{
			{"radware bot manager captcha", 3}, {"radware captcha page", 3},
			{"unauthorized request blocked", 2},
		},
		code: []mark{{"validate.perfdrive.com", 3}, {"cas.avalon.perfdrive.com", 2}},
		says: []mark{
			{"ShieldSquare", 1}, {"Unauthorized Request Blocked", 2},
			{"CloudWebSec.radware.com", 2},
		},
		source: detectors + ", radware; https://support.radware.com",
		date:   "2026-11-29"},
	{product: DDoSGuard,
		hints:  []field{{"Server", "ddos-guard"}},
		titles: []mark{{"ddos-guard", 2}},
		code: []mark{
			{"/.well-known/ddos-guard/", 2}, {"check.ddos-guard.net/check.js", 3},
			{"data-ddg-origin", 2},
		},
		says:   []mark{{"Checking your browser before accessing", 1}},
		source: detectors + ", ddosguard",
		date:   "2026-11-29"},
	{product: Qrator,
		hints:  []field{{"Server", "QRATOR"}, {"X-Qrator-Requestid", ""}},
		code:   []mark{{"/__qrator/qauth", 3}, {"qrator_jsr", 2}, {"//qrator.net/", 1}},
		source: "https://docs.qrator.net/en/",
		date:   "2026-11-29"},
	{product: StackPath,
		hints:  []field{{"X-Sp-Waf", ""}, {"Server", "StackPath"}},
		titles: []mark{{"site verification", 1}},
		code:   []mark{{"<title>StackPath</title>", 1}, {"/sbbi/?sbbpg=", 3}},
		says: []mark{
			{"Protected by StackPath", 2},
			{"is using a security service for protection against online attacks", 2},
		},
		source: detectors + ", stackpath",
		date:   "2026-11-29"},
	{product: Barracuda,
		hints:  []field{{"Server", "Barracuda"}},
		titles: []mark{{"barracuda advanced bot protection", 3}},
		code:   []mark{{"barra_counter_session", 2}, {"/captcha/barracuda", 2}},
		says: []mark{
			{"Barracuda Networks", 1}, {"Barracuda Advanced Bot Protection", 2},
			{"Why am I seeing this page? Barracuda", 2},
		},
		source: detectors + ", barracuda",
		date:   "2026-11-29"},
	{product: Wordfence,
		titles: []mark{{"your access to this site has been limited", 2}},
		says: []mark{
			{"Generated by Wordfence", 2}, {"blocked by Wordfence", 1},
			{"Wordfence, a security plugin", 2},
			{"A potentially unsafe operation has been detected in your request to this site", 1},
		},
		source: detectors + ", wordfence",
		date:   "2026-11-29"},
	{product: GoAway,
		titles: []mark{{"checking you are not a bot", 2}},
		code: []mark{
			{"/.well-known/.git.gammaspectra.live/git/go-away/", 2},
			{"git.gammaspectra.live/git/go-away", 1}, {"Loading challenge <em>", 1},
		},
		source: "https://git.gammaspectra.live/git/go-away",
		date:   "2026-11-29"},
	{product: Azure,
		outright: []field{{"X-Azure-Jschallenge", ""}},
		hints:    []field{{"X-Azure-Ref", ""}},
		titles:   []mark{{"azure waf", 3}},
		code: []mark{
			{"/.azwaf/", 2}, {"afd_azwaf_jsclearance", 2}, {"appgw_azwaf_jsclearance", 2},
		},
		says:   []mark{{"The request is blocked.", 1}},
		source: "https://learn.microsoft.com/azure/web-application-firewall/waf-javascript-challenge",
		date:   "2026-11-29"},
	{product: FortiWeb,
		hints:  []field{{"Server", "FortiWeb"}},
		titles: []mark{{"web page blocked!", 1}},
		code:   []mark{{".fgd_icon", 2}},
		says: []mark{
			{"Server unavailable! You can visit", 1}, {"Attack ID", 1}, {"Message ID", 1},
			{"FortiWeb", 1}, {"FORTIGUARD", 1},
		},
		source: detectors + ", fortiweb, fortigate",
		date:   "2026-11-29"},
	{product: Imunify360,
		hints:  []field{{"Server", "imunify360-webshield"}},
		titles: []mark{{"one moment, please...", 1}},
		code:   []mark{{"/z0f76a1d14fd21a8fb5fd0d03e0fdc3d3cedae52f", 3}, {"imunify360-captcha", 3}},
		says:   []mark{{"imunify360", 2}, {"Imunify360", 2}},
		source: detectors + ", imunify360",
		date:   "2026-11-29"},
	{product: Distil,
		hints:  []field{{"X-Distil-Cs", ""}},
		titles: []mark{{"pardon our interruption", 2}},
		code: []mark{
			{"distil_r_captcha", 3}, {"/distil_r_blocked.html", 3}, {"distilCallbackGuard", 2},
			{"distilIdentificationBlock", 3},
		},
		source: detectors + ", distil",
		date:   "2026-11-29"},
	{product: ArvanCloud,
		hints:  []field{{"Server", "ArvanCloud"}},
		titles: []mark{{"transferring to the website...", 2}},
		code:   []mark{{"/__arcsjs", 2}, {"__arcsjsc", 2}},
		says:   []mark{{"Transferring to the website...", 1}},
		source: detectors + ", arvancloud",
		date:   "2026-11-29"},
}

// captchas are what pages load that ask for a captcha, of makers whose captchas are part of
// ordinary pages too.
var captchas = [...]string{
	"hcaptcha.com/1/api.js", "js.hcaptcha.com", "google.com/recaptcha/api.js",
	"google.com/recaptcha/enterprise.js", "recaptcha.net/recaptcha/api.js",
	"challenges.cloudflare.com/turnstile/", "client-api.arkoselabs.com", "static.geetest.com",
	"friendlycaptcha", "smartcaptcha.yandexcloud.net", "/altcha",
}

// challengeTitles are words of the titles of pages that ask for a captcha and have nothing else.
var challengeTitles = [...]string{
	"just a moment", "security check", "are you a robot", "are you human", "not a robot",
	"not a bot", "human verification", "verify you are human", "verifying you are human",
	"checking your browser", "bot verification", "captcha", "one moment, please", "robot check",
	"access denied", "attention required", "sicherheitsprüfung", "sicherheitsüberprüfung",
	"sind sie ein mensch", "kein roboter", "kein bot", "vérification de sécurité",
	"êtes-vous un robot", "êtes-vous humain", "pas un robot", "¿eres un robot", "¿eres humano",
	"no soy un robot", "no eres un robot", "verificación de seguridad", "você é humano",
	"não sou um robô", "verificação de segurança", "sei umano", "non sono un robot",
	"ben je een robot", "geen robot", "nie jestem robotem", "robot değilim", "вы не робот",
	"я не робот", "не бот", "проверка браузера", "проверка безопасности", "人机验证", "安全验证", "机器人",
	"機器人", "ロボットではありません", "로봇이 아닙니다",
}
