"""The words by which pages say that they are not what was asked for, in the languages of the web.

No phrase decides alone: `outcome` asks where it stands and what else the page holds.
"""

from __future__ import annotations

import re


def _any(*alternatives: str) -> re.Pattern:
    """Return a pattern that finds any of the alternatives, in any case, in any line."""
    return re.compile(f"(?im)(?:{'|'.join(alternatives)})")


NOT_FOUND = re.compile(
    r"(?i)^(?:\W|sorry|oops|whoops|uh[- ]?oh|hmm|error|http|the|this|that|die|diese|la|we|we're|your|404|410|is)*"
    r"(?:\b(?:404|410)\b(?=\W*(?:$|error|not|page|fehler|seite|file))|"
    r"(?:requested |angeforderte )?(?:page|article|content|story|url|document|site|file|item|product|resource|video|post|"
    r"job(?: posting| listing| ad)?|listing|seite|p[áa]gina|página)\W+"
    r"(?:you(?:'re| are| were| have)? (?:looking for|requested|asked for|trying to (?:reach|view|access))\W+)?"
    r"(?:(?:can(?:no|['’])t|could ?n[o'’]t|was not|is not|isn['’]t|not) (?:be )?(?:found|available)|no longer (?:exists?|available)|"
    r"is no longer|unavailable\W*$|(?:has )?expired|does(?: not|n['’]t) exist|(?:has been|was|may have been) (?:removed|deleted|moved|discontinued)|"
    r"(?:wurde |konnte )?nicht (?:mehr )?(?:gefunden|verfügbar|vorhanden)|introuvable|non trouv[ée]e|no encontrada|non trovata)|"
    r"(?:can['’]?t|cannot|couldn['’]?t|could not|unable to|can not) (?:seem to )?find (?:that|this|the|what)|"
    r"(?:not found|nothing (?:was )?found(?: here)?|nothing (?:to see )?here|fehler 404|gone)\W*$)"
)
NOT_FOUND_ABROAD = _any(
    r"\b(?:seite|artikel|inhalt)\b.{0,40}\b(?:existiert|gibt es)\b.{0,10}\bnicht",
    r"\bpage\b.{0,30}\bintrouvable|\b(?:page|article|contenu)\b.{0,40}\bn['’]existe (?:pas|plus)",
    r"\b(?:página|artículo|contenido|noticia)\b.{0,40}\b(?:no (?:se (?:ha )?enc[ou]|existe|est[áa] disponible))",
    r"\b(?:página|conteúdo|artigo|notícia)\b.{0,40}\bnão (?:foi |está )?(?:encontrad|existe|disponível)",
    r"\b(?:pagina|articolo|contenuto)\b.{0,40}\bnon (?:è stat[ao] |è )?(?:trovat|esiste|disponibil)",
    r"\bpagina\b.{0,40}\b(?:niet (?:meer )?(?:gevonden|beschikbaar)|bestaat niet)",
    r"\bsidan\b.{0,40}\b(?:hittades inte|kunde inte hittas|finns inte)",
    r"\bsiden\b.{0,40}\b(?:(?:ikke|ikkje) (?:blev |ble )?fun[dn]et|blev ikke fundet|ble ikke funnet|(?:findes|finnes) ikke)",
    r"\bsivua?\b.{0,30}\bei (?:löyt|ole)|\bstránka\b.{0,40}\b(?:nenalezena|neexistuje|nebyla nalezena|nenájden)",
    r"\b(?:nie znaleziono strony|stron[ay]\b.{0,40}\bnie (?:istnieje|została znaleziona))",
    r"\baz? oldal\b.{0,30}\bnem található|\bpagina\b.{0,30}\bnu (?:a fost găsită|există)",
    r"страниц\w*.{0,40}не (?:найден|существует)|сторінк\w*.{0,40}не (?:знайдено|існує)",
    r"\bsayfa\b.{0,30}\b(?:bulunamadı|mevcut değil)|σελίδα.{0,30}δεν (?:βρέθηκε|υπάρχει)",
    r"ページ[がは].{0,20}(?:見つかりません|存在しません)|(?:页面|頁面|文章|网页|網頁).{0,10}(?:不存在|找不到|已删除|已刪除)",
    r"페이지를 찾을 수 없|(?:trang|bài viết).{0,20}không (?:tìm thấy|tồn tại)|halaman.{0,20}tidak ditemukan",
    r"(?:الصفحة|صفحة).{0,30}غير موجودة|הדף.{0,20}לא נמצא",
)
TROUBLE = re.compile(
    r"(?i)^\W*(?:(?:error|http)\W*)?(?:5\d\d\W+)?(?:error establishing a database connection|database error|"
    r"internal server error|(?:service|site|server) (?:temporarily |is (?:temporarily )?)?unavailable|bad gateway|gateway time-?out|"
    r"application error|server error|(?:this )?account (?:has been )?suspended|maintenance(?: mode)?|under maintenance|"
    r"(?:we['’]ll|we will) be (?:right )?back(?: soon)?|(?:the |this |our )?(?:web)?site is (?:down|under)\b.{0,20}maintenance|"
    r"(?:something|oops,? something) went wrong|error|an? (?:unexpected |unknown |internal )?error (?:has )?occurr?ed)\W*$"
)
TROUBLE_TOLD = _any(
    r"error occurr?ed|try again (?:later|in a few)|scheduled maintenance|hosting provider|server encountered an",
    r"temporarily unable to service|^\W*(?:nginx|apache)[\w/.]*\W*$|temporarily unavailable",
)

CHALLENGE = _any(
    r"just a moment|attention required|verify(?:ing)? (?:that )?you(?:['’]re| are) (?:a )?(?:human|not a)",
    r"(?:are|confirm) you(?:['’]re| are)? (?:a )?(?:human|(?:not a )?robot)|you(?:['’]re| are) not a (?:ro)?bot\b",
    r"checking (?:if the site connection|your browser)|verifying your browser|security checkpoint",
    r"access (?:is |to this (?:page|site|service|website) )?(?:has been )?(?:denied|limited|blocked|restricted) (?:by|$)",
    r"access (?:is |to this page )?(?:has been )?denied|your access to this (?:site|service) has been",
    r"(?:do not|don['’]t) have (?:access to|permission to access)|you are unable to access",
    r"security (?:check|verification)|(?:complete|solve|enter) (?:the|this|a) captcha|captcha (?:challenge|required|verification)|^\W*captcha\W*$",
    r"enter the characters you see|press (?:&|and) hold|enable javascript and cookies to continue",
    r"enable js and disable any ad blocker|unusual (?:traffic|activity)|from your computer network|robot check|too many requests",
    r"ddos protection|request (?:was |has been |could not be )?(?:blocked|satisfied|unsuccessful)|bot (?:detection|protection)",
    r"pardon our interruption|you(?:['’]ve| have) been blocked|human verification|^\W*(?:403\W+)?forbidden\W*$",
    r"not available in your (?:region|country|location|area)|unavailable (?:for|due to) legal reasons",
    r"country belonging to the european economic area",
    r"^\W*(?:nur einen moment|un instant|un momento|um momento|один момент|een ogenblik geduld|chwileczkę|bir dakika)\W*$",
    r"ob sie ein mensch sind|que vous êtes (?:un )?humain|(?:que|de que) (?:usted )?(?:es|eres) (?:un ser )?humano",
    r"(?:di essere|che sei) (?:un )?uman|se você é humano|que você é humano|что вы (?:не робот|человек)|dat u een mens bent",
    r"zugriff (?:wurde )?verweigert|accès refusé|acceso denegado|accesso negato|acesso negado|доступ (?:запрещ|ограничен)",
    r"しばらくお待ちください|ロボットではない|アクセスが拒否|人間であることを確認|请稍候|您是真人|访问被拒绝",
)
CHALLENGE_MARKS = re.compile(
    r"cdn-cgi/challenge-platform|cf-chl|_cf_chl|px-captcha|perimeterx|distil_|(?i:incapsula)|"
    r"captcha-delivery|datadome|awswaf|(?:h|re)captcha(?:\.com|/api)|KPSDK|turnstile"
)

CONSENT = _any(
    r"we (?:value|respect|care about) your privacy|before you continue|your (?:privacy |data )?choices",
    r"cookies?\b.{0,200}\b(?:consent|accept|partners)|(?:accept|reject|agree)(?: to)? (?:all|cookies)",
    r"(?:store|access)\W.{0,20}information on a device|manage (?:options|cookies|preferences|consent)",
    r"process(?:ing of)? (?:your )?personal data|your choices apply",
    r"wir (?:schätzen|respektieren) ihre privatsphäre|alle akzeptieren|zustimmen und weiter|datenschutz-?einstellungen",
    r"personenbezogene daten verarbeiten|(?:weiter|weiterlesen|wie gewohnt) mit werbung|mit werbung (?:weiter)?lesen",
    r"akzeptieren und weiter|pur-abo|zustimmung\W*$|ihre zustimmung|contentpass",
    r"tout accepter|continuer sans accepter|accepter (?:&|et) (?:fermer|continuer)|avec votre accord|nos \d* ?partenaires",
    r"aceptar (?:todo|y (?:continuar|cerrar))|con (?:tu|su) acuerdo|nuestros \d* ?socios.{0,60}cookies|(?:usamos|utilizamos) cookies",
    r"accetta (?:tutt[oi]|e (?:continua|chiudi))|i nostri \d* ?partner|utilizziamo (?:i )?cookie",
    r"alles accepteren|onze \d* ?partners|(?:wij|we) gebruiken cookies|aceitar (?:tudo|todos)|nossos \d* ?parceiros",
    r"zaufani(?:mi)? partner|przejdź do serwisu|godkänn alla|accepter alle|vi (?:bruger|använder|bruker) cookies",
    r"принять все|すべて(?:のcookieを)?受け入れる|同意する|全部接受",
)
CONSENT_PLACE = re.compile(
    r"(?i)(?:^|[/.?&=-])(?:consent|gdpr|cmp|collectconsent|privacy-?(?:wall|gate)|cookie-?wall)"
)
POLICY = _any(
    r"(?:cookie|privacy)(?:s)?[- ](?:policy|notice|statement)|datenschutzerklärung|cookie-?richtlinie|"
    r"politique de (?:cookies|confidentialité)|política de (?:cookies|privacidad|privacidade)"
)
LICENCE = _any(
    r"\b(?:accept|agree to|confirm)\b.{0,30}\b(?:licen[cs]e|terms|conditions|agreement)\b",
    r"\b(?:confirm|verify) (?:that )?(?:you are (?!a? ?human)|your age)|are you (?:over|of legal)",
)

LOGIN = _any(
    r"^\W*(?:please )?(?:you must )?(?:log|sign) ?(?:in|on|up)\b.{0,40}$|^\W*(?:you must log in|login)\b.{0,30}$|log(?:ging)? into",
    r"^\W*(?:join \w+|anmelden|einloggen|(?:se )?connecte[rz]|connexion|iniciar sesión|inicia sesión|accedi|entrar|inloggen|logga in|"
    r"zaloguj(?: się)?|войти|вход|ログイン|登录|登入|로그인)\W*$",
)
LOGIN_PLACE = re.compile(
    r"(?i)(?:^|[/.])(?:log-?(?:in|on)|sign-?(?:in|on|up)|authwall|sso|oauth2?|authenticate|connexion|anmelden)(?:[/?.;]|$)"
)

SCRIPT = _any(
    r"(?:enable|requires?|need|without|activate|turn on|aktivieren|benötigt|activez|activer|habilite|active|attiva)\b.{0,40}java ?script",
    r"java ?script.{0,60}(?:enable|required|disabled|to run|aktivier|not supported|not available|is off|désactivé|desactivado)",
    r"browser (?:is )?(?:not supported|unsupported|out of date|outdated)|(?:upgrade|update) your browser",
)

PARKED = _any(
    r"(?:this )?domain (?:name )?(?:is|may be|might be|has expired|names? for sale)\b.{0,20}(?:sale|parked|expired|registered)",
    r"(?:buy|purchase|inquire about|acquire|interested in) this domain|domain (?:for sale|parking)|parked (?:free|domain|by|page)",
    r"sponsored listings displayed|related searches|diese domain (?:steht|ist).{0,20}(?:verkauf|registriert|geparkt)",
    r"domain (?:kaufen|zu verkaufen)|this web(?:site|page) is parked|future home of",
    r"ce (?:nom de )?domaine est (?:à vendre|enregistré)|este dominio está (?:en venta|à venda)|questo dominio è in vendita",
)
PARKED_MARKS = re.compile(
    r"(?i)adsense/domains|sedoparking|parkingcrew|bodis\.com|//(?:www\.)?dan\.com|hugedomains|parklogic|afternic\.com|"
    r"godaddy\.com/(?:forsale|domainsearch)"
)

WALL = _any(
    r"subscribe (?:now )?to (?:continue|read|keep|unlock|view|access)|(?:continue|keep) reading (?:with|for|by|your)",
    r"already a (?:paid )?(?:subscriber|member)|this (?:article|content|story|post) is (?:for|exclusive|reserved|only available)",
    r"(?:log|sign) in to (?:continue|read)|to (?:read|continue reading) (?:the (?:full|rest)|this)|unlock (?:this|full) ",
    r"you(?:['’]ve| have) (?:reached|used|hit) (?:your|the|all)\b.{0,30}(?:limit|free)|create (?:a free|an) account to (?:read|continue)",
    r"(?:for )?subscribers?[- ]only|for (?:paid )?subscribers only|subscribe for full access|(?:paid )?subscribers only",
    r"register (?:now |for free )?to (?:continue|read|keep|unlock)|registration (?:is )?required to|member-only story",
    r"preview of subscription content|(?:log in|access|sign in) (?:via|through) (?:an|your) institution",
    r"(?:buy|purchase|rent) (?:this |full )?(?:article|chapter)|get (?:full )?access to this article",
    r"weiterlesen mit|jetzt abonnieren|exklusiv für abonnenten|abonnenten vorbehalten|nur für abonnenten|testabo\b",
    r"réservée? aux abonnés|il vous reste \d+ ?%|déjà abonné|pour lire la suite",
    r"solo para suscriptores|para (?:continuar|seguir) leyendo|ya eres suscriptor|exclusivo para (?:suscriptores|assinantes)|já é assinante",
    r"riservat[oa] agli abbonati|abbonati per (?:leggere|continuare)|sei già abbonato",
    r"lees verder met|al abonnee|(?:alleen )?voor abonnees|dla (?:subskrybentów|prenumeratorów)|for abonnenter|läs vidare med",
    r"только для подписчиков|有料会員|この記事は会員限定|会员专享|订阅后",
)
