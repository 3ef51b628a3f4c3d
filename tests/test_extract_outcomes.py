"""Walls, shells, error pages and teasers are told from pages, in the forms and languages of the web."""

from __future__ import annotations

import json

import pytest

from sourcebench.extract import extract_page

P1 = (
    "The committee published its third annual review of river levels on the northern plain, and it "
    "found that the mean depth fell by eleven centimetres between the two surveys."
)
P2 = (
    "Field staff used the same gauges at every station, repeated each reading three times, and stored "
    "the raw log next to the summary so that other groups can check it."
)
MENU = "<header><nav><a href='/'>Home</a> <a href='/news'>News</a></nav></header>"
END = "<footer><p>© 2026 Example Media. <a href='/terms'>Terms</a></p></footer>"
TEASERS = "<section><h2>Most read</h2>" + "".join(
    f"<h3><a href='/a{n}'>A headline of story number {n} today</a></h3><p>Short teaser {n}.</p>"
    for n in range(6)
)
SCRIPT = "<script src='/a.js'></script>"
ASKED = "https://example.org/rivers/levels"


def outcome(body: str, title: str = "Example", head: str = "", url: str = ASKED) -> str:
    """Return the outcome of a page asked for by `ASKED`."""
    page = f"<html><head><meta charset=utf-8><title>{title}</title>{head}</head><body>{body}</body>"
    headers = {"Content-Type": "text/html"}
    return extract_page("p", url, page.encode(), headers=headers, asked_url=ASKED).outcome


@pytest.mark.parametrize(
    ("title", "heading", "text"),
    [
        ("Page not found", "404", "Sorry, the page you were looking for could not be found."),
        ("Página no encontrada", "Error 404", "La página que busca no existe o ha sido movida."),
        ("Página não encontrada", "Ops!", "A página não existe ou o conteúdo foi removido."),
        ("Page introuvable", "Erreur 404", "La page que vous cherchez n'existe plus."),
        ("Seite nicht gefunden", "Hoppla", "Die gesuchte Seite existiert leider nicht mehr."),
        ("Pagina non trovata", "404", "La pagina richiesta non esiste."),
        ("Pagina niet gevonden", "Pagina niet gevonden", "De pagina bestaat niet meer."),
        ("Страница не найдена", "Ошибка 404", "Запрашиваемая страница не существует."),
        ("ページが見つかりません", "404", "お探しのページは見つかりませんでした。"),
        ("页面不存在", "404", "抱歉，您访问的页面不存在。"),
        ("Sayfa bulunamadı", "404", "Aradığınız sayfa bulunamadı."),
        ("Sidan hittades inte", "Hoppsan", "Sidan du söker finns inte längre."),
        ("Stránka nenalezena", "Stránka nenalezena", "Zkuste vyhledávání."),
        ("Example", "Hmm. We couldn't find that page", "Try searching."),
        ("News", "This article is no longer available", "It has expired from our archive."),
        ("Job expired", "This job posting has expired", "The position has been filled."),
        ("Error", "Something went wrong", "An unexpected error occurred. Try again later."),
        ("Database error", "Error establishing a database connection", ""),
        ("Service unavailable", "503 Service Temporarily Unavailable", "nginx"),
        ("Account suspended", "This Account has been suspended.", "Contact your host."),
    ],
)
@pytest.mark.parametrize(("before", "after"), [("", ""), (MENU, END), (MENU, TEASERS + END)])
def test_error_pages_sent_as_pages(title, heading, text, before, after):
    """An error page with status 200 is a soft 404 in any language, bare or in a full template."""
    body = f"{before}<main><h1>{heading}</h1><p>{text}</p></main>{after}"
    assert outcome(body, f"{title} | Example") == "soft_404"


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("How to fix a 404: page not found explained", f"<p>{P1}</p><p>{P2}</p><p>{P1} {P2}</p>"),
        (
            "Error 404 in Apache",
            "<p>Apache sends 404 when a file is missing: see ErrorDocument.</p>",
        ),
        ("Not found: the lost city of Z", f"<p>{P1}</p>"),
        ("Gone: a poem", f"<p>Gone are the days when rivers ran deep.</p><p>{P2}</p>"),
        (
            "Domain for sale scams",
            f"<p>Some write: this domain is for sale. Beware.</p><p>{P1}</p>",
        ),
        ("Cookie policy", f"<p>We use cookies. You can accept all cookies or none.</p><p>{P1}</p>"),
        ("How to enable JavaScript", f"<p>Open the settings, enable JavaScript.</p><p>{P1}</p>"),
    ],
)
def test_pages_about_errors_and_walls_are_pages(title, body):
    """Text that speaks of errors, domains, cookies or scripts is judged like any other."""
    assert outcome(f"{MENU}<main><h1>{title}</h1>{body}</main>{END}{SCRIPT}", title) == "ok"


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("Just a moment...", "Enable JavaScript and cookies to continue"),
        ("Nur einen Moment…", "<p>Überprüfung, ob Sie ein Mensch sind.</p>"),
        ("Un instant…", "<p>Vérifiez que vous êtes humain.</p>"),
        ("Un momento…", "<p>Verificar que usted es un ser humano.</p>"),
        ("Access denied", "<h1>Access denied</h1><p>You do not have access to example.org.</p>"),
        ("Attention Required!", "<h1>Sorry, you have been blocked</h1><p>Why?</p>"),
        ("example.org", "<p>Please enable JS and disable any ad blocker</p>"),
        ("Denied", "<h1>Press & Hold to confirm you are a human (and not a bot).</h1>"),
        ("", "<iframe src='/_Incapsula_Resource'>Request unsuccessful. Incident 1</iframe>"),
        ("Amazon", "<h4>Enter the characters you see below</h4><p>You're not a robot?</p>"),
        (
            "Sorry",
            f"<p>Our systems have detected unusual traffic from your computer network. {P1}</p>",
        ),
        ("403 Forbidden", "<center><h1>403 Forbidden</h1></center><hr><center>nginx</center>"),
        ("Daily News", "<p>Sorry, this content is not available in your region.</p>"),
        ("429 Too Many Requests", "<h1>Too Many Requests</h1><p>Please try again later.</p>"),
        ("Blocked", "<p>You've been blocked by network security.</p>"),
        (
            "アクセス拒否",
            "<h1>アクセスが拒否されました</h1><p>ロボットではないことを確認してください。</p>",
        ),
        ("Redirect", "<meta http-equiv=refresh content='0; url=/real'><p>Redirecting...</p>"),
        ("Brewery", "<h1>Are you of legal drinking age?</h1><button>Yes</button>"),
    ],
)
def test_challenges_and_refusals_are_interstitials(title, body):
    """Challenges, refusals and gates of the known makers are seen, whatever language they speak."""
    assert outcome(body, title) == "interstitial"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Example", "We value your privacy. We and our partners store information on a device."),
        ("Zustimmung", "Weiter mit Werbung: wie gewohnt mit Werbung und Tracking. Oder PUR-Abo."),
        ("Exemple", "Avec votre accord, nos 230 partenaires et nous utilisons des cookies."),
        ("Ejemplo", "Con tu acuerdo, nosotros y nuestros 200 socios usamos cookies."),
    ],
)
def test_consent_pages_of_other_makers(title, text):
    """A consent page needs no English words and no telling address."""
    assert outcome(f"<div><h1>{title}</h1><p>{text}</p></div>", title) == "interstitial"


@pytest.mark.parametrize(
    ("title", "url"),
    [
        ("Log in | Example", "https://example.org/login?next=%2Frivers"),
        ("Sign in", "https://accounts.example.org/signin?continue=x"),
        ("Sign Up | LinkedIn", "https://www.linkedin.com/authwall?trk=x"),
        ("Anmelden", ASKED),
    ],
)
def test_login_pages_are_interstitials(title, url):
    """A page that asks for a password in place of the one asked for is a wall, redirected or not."""
    form = "<form><input name=user><input type=password><button>OK</button></form>"
    assert (
        outcome(f"<h1>{title}</h1>{form}<p>Forgot password?</p>", title, url=url) == "interstitial"
    )
    article = f"<article><h1>Rivers</h1><p>{P1}</p><p>{P2}</p></article>"
    assert outcome(f"<header>{form}</header>{article}", "Rivers") == "ok"


@pytest.mark.parametrize(
    "body",
    [
        "<noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>",
        "<main id=app></main><script>" + "x" * 9000 + "</script>" + MENU + END,
        "<h1>JavaScript is not available.</h1><p>We’ve detected that JavaScript is disabled in this "
        "browser. Please enable JavaScript or switch to a supported browser to continue.</p>",
        "<p>Bitte aktivieren Sie JavaScript, um diese Seite anzuzeigen.</p>",
        "<h1>Your browser is not supported</h1><p>Please upgrade your browser.</p>",
    ],
)
def test_shells_need_a_script(body):
    """What waits for a script is no article, though it says so in running text."""
    assert outcome(body + SCRIPT) == "needs_javascript"


@pytest.mark.parametrize(
    "wall",
    [
        "Subscribe to continue reading",
        "You’ve reached your limit of free articles.",
        "Register for free to continue reading.",
        "This post is for paid subscribers",
        "This is a preview of subscription content, log in via an institution to check access.",
        "Weiterlesen mit Beispiel+",
        "Dieser Artikel ist Abonnenten vorbehalten.",
        "Il vous reste 80% de cet article à lire. La suite est réservée aux abonnés.",
        "Para continuar leyendo, suscríbete.",
        "Questo contenuto è riservato agli abbonati.",
        "Lees verder met een abonnement.",
        "Conteúdo exclusivo para assinantes.",
    ],
)
def test_teasers_are_partial(wall):
    """A short text that ends with a wall is partial, in the languages of the web."""
    assert outcome(f"<article><h1>T</h1><p>{P1}</p><p>{wall}</p></article>") == "partial"


@pytest.mark.parametrize(
    "head",
    [
        {"@type": "NewsArticle", "isAccessibleForFree": False},
        {"@graph": [{"@type": "Article", "isAccessibleForFree": "http://schema.org/False"}]},
        {"@type": "WebPage", "mainEntity": {"@type": "Article", "isAccessibleForFree": "False"}},
        None,
    ],
)
def test_pages_that_say_that_they_are_not_free(head):
    """JSON-LD in its forms, or the publisher's tier, makes a short text a teaser."""
    declared = f"<script type='application/ld+json'>{json.dumps(head)}</script>"
    if head is None:
        declared = "<meta property='article:content_tier' content='locked'>"
    assert outcome(f"<article><h1>T</h1><p>{P1}</p></article>", head=declared) == "partial"


def test_a_line_about_subscribing_is_no_wall():
    """An offer under a whole text, or a newsletter box, leaves the text whole."""
    text = f"<article><h1>T</h1><p>{P1}</p><p>{P2}</p><p>%s</p></article>"
    assert outcome(text % "Subscribe to our newsletter to get more.") == "ok"
    assert outcome(text % "You have read your last free article this month.") == "ok"


def test_a_home_page_with_a_reason_in_its_address_is_still_one():
    """A redirect to the home page is seen though the address notes where it came from."""
    body = f"<article><h1>T</h1><p>{P1}</p></article>"
    assert outcome(body, url="https://example.org/?ref=404&utm_source=x") == "redirect_home"
    assert outcome(body, url="https://example.org/?p=512") == "ok"
