"""What is said where TLS fails, by a server that speaks it: which file, which certificate, which name."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.processes import Processes
from tests.servers import Server, free_port, program
from workkit.brokers.redis_server.connecting import connect
from workkit.errors import ServerUnreachable

OURS = "subjectAltName=IP:127.0.0.1,DNS:localhost"
OTHERS = "subjectAltName=DNS:db1.example.org,IP:10.0.0.1"
TRUST = "Give ?ssl_ca_certs=FILE."


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority (ca.pem), certificates of it for us, for others, and one that has expired."""
    folder = tmp_path_factory.mktemp("papers")
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    authority = ["-subj", "/CN=an authority", "-addext", "basicConstraints=critical,CA:TRUE", "-days", "2"]
    openssl(folder, "req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", *authority)
    for name, names, days in (("ours", OURS, "2"), ("others", OTHERS, "2"), ("expired", OURS, "-1")):
        (folder / "names").write_text(names)
        openssl(folder, "req", *new, "-keyout", f"{name}.key", "-out", "request", "-subj", f"/CN={name}")
        by = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-days", days]
        openssl(folder, "x509", "-req", "-in", "request", "-out", f"{name}.pem", *by)
    alone = ["-subj", "/CN=alone", "-addext", OURS, "-days", "2"]
    openssl(folder, "req", "-x509", *new, "-keyout", "alone.key", "-out", "alone.pem", *alone)
    (folder / "text").write_text("no certificate")
    return folder


@pytest.fixture(scope="module", params=["ours"])
def secure(papers: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that speaks TLS at `options[1]`, with the certificate of the parameter; plain Redis at its port."""
    tls = ["--tls-port", str(free_port()), "--tls-auth-clients", "no", "--tls-ca-cert-file", str(papers / "ca.pem")]
    for option, ending in (("cert", "pem"), ("key", "key")):
        tls += [f"--tls-{option}-file", str(papers / f"{request.param}.{ending}")]
    folder = tmp_path_factory.mktemp("secure")
    with closing(Server(program("redis"), folder=folder, is_durable=False, options=tls)) as server:
        server.start()
        yield server


def where(server: Server, host: str = "127.0.0.1") -> str:
    return f"rediss://{host}:{server.options[1]}/0"


def refused(url: str) -> str:
    """What is said of a server that cannot be used, without its URL."""
    server = connect(url)
    with closing(server), pytest.raises(ServerUnreachable) as caught, server.translated() as client:
        client.ping()
    assert str(caught.value).startswith(f"{url.partition('?')[0]}: ")
    return str(caught.value).partition(": ")[2]


def test_a_trusted_certificate_is_accepted(secure: Server, papers: Path) -> None:
    for host in ("127.0.0.1", "localhost"):
        server = connect(f"{where(secure, host)}?ssl_ca_certs={papers}/ca.pem")
        with closing(server), server.translated() as client:
            assert client.ping()


def test_an_authority_that_is_not_known_is_named(secure: Server) -> None:
    assert refused(where(secure)) == (
        f"its certificate is not trusted: self-signed certificate in certificate chain. {TRUST}"
    )


@pytest.mark.parametrize("secure", ["alone"], indirect=True)
def test_the_file_that_does_not_vouch_for_a_certificate_is_named(secure: Server, papers: Path) -> None:
    assert refused(where(secure)) == f"its certificate is not trusted: self-signed certificate. {TRUST}"
    assert refused(f"{where(secure)}?ssl_ca_certs={papers}/ca.pem") == (
        f"its certificate is not trusted by ssl_ca_certs={papers}/ca.pem: self-signed certificate. "
        "Give the file of the authority that signed it: ?ssl_ca_certs=FILE."
    )


@pytest.mark.parametrize("secure", ["others"], indirect=True)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_certificate_for_other_names_is_said_with_them(secure: Server, papers: Path, host: str) -> None:
    assert refused(f"{where(secure, host)}?ssl_ca_certs={papers}/ca.pem") == (
        f"its certificate is for db1.example.org, 10.0.0.1, and not for {host}. "
        "Name the server as its certificate does, or give ?ssl_check_hostname=false."
    )


@pytest.mark.parametrize("secure", ["expired"], indirect=True)
def test_a_certificate_that_has_expired_is_said(secure: Server, papers: Path) -> None:
    assert refused(f"{where(secure)}?ssl_ca_certs={papers}/ca.pem") == (
        "its certificate has expired. Renew the certificate of the server."
    )


@pytest.mark.parametrize(
    ("options", "trouble"),
    [
        (
            "ssl_ca_certs={0}/none.pem",
            "ssl_ca_certs={0}/none.pem cannot be read: No such file or directory. Give a file",
        ),
        ("ssl_ca_certs={0}/text", "ssl_ca_certs={0}/text holds no certificate. Give a file of certificates in PEM."),
        ("ssl_certfile={0}/none.pem", "ssl_certfile={0}/none.pem cannot be read: No such file or directory. "),
        ("ssl_certfile={0}/text", "ssl_certfile={0}/text cannot be used: no certificate with its key in pem. "),
        (
            "ssl_certfile={0}/ours.pem&ssl_keyfile={0}/ca.key",
            "ssl_certfile={0}/ours.pem with ssl_keyfile={0}/ca.key cannot be used: key values mismatch. ",
        ),
        ("ssl_certfile={0}/ours.pem&ssl_keyfile={0}/no.key", "ssl_keyfile={0}/no.key cannot be read: No such file"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(secure: Server, papers: Path, options: str, trouble: str) -> None:
    assert refused(f"{where(secure)}?{options.format(papers)}").startswith(trouble.format(papers))


def test_a_server_that_asks_for_a_certificate_is_said(secure: Server, papers: Path) -> None:
    client, ca = secure.client(), f"ssl_ca_certs={papers}/ca.pem"
    client.config_set("tls-auth-clients", "yes")
    try:
        assert refused(f"{where(secure)}?{ca}") == (
            "it asks for a certificate of this client. Give ?ssl_certfile=FILE&ssl_keyfile=FILE."
        )
        assert refused(f"{where(secure)}?{ca}&ssl_certfile={papers}/alone.pem&ssl_keyfile={papers}/alone.key") == (
            f"it does not trust the certificate of this client, ssl_certfile={papers}/alone.pem."
        )
    finally:
        client.config_set("tls-auth-clients", "no")


def test_plain_and_tls_are_told_apart(secure: Server) -> None:
    plain, tls = f"redis://127.0.0.1:{secure.options[1]}/0", f"rediss://127.0.0.1:{secure.port}/0"
    assert refused(plain) == f"closed without an answer; if the port speaks TLS, try {where(secure)}."
    patience = "?socket_timeout=0.2&socket_connect_timeout=0.2"
    assert refused(tls + patience).endswith(f"the port seems to speak plain Redis. Try {secure.url}.")


def test_a_secure_server_that_takes_no_more_clients_is_told_from_one_without_tls(secure: Server, papers: Path) -> None:
    """It can say nothing then: it cuts the connection before the handshake."""
    client = secure.client()
    client.config_set("maxclients", 1)
    try:
        assert refused(f"{where(secure)}?ssl_ca_certs={papers}/ca.pem") == (
            "closed without a TLS answer; either it accepts no more clients (maxclients), or try "
            f"redis://127.0.0.1:{secure.options[1]}/0."
        )
    finally:
        client.config_set("maxclients", 1000)


def test_the_command_line_names_the_certificate(secure: Server, processes: Processes) -> None:
    ran = processes.workkit("list", "t", "--redis", where(secure))
    assert ran.wait() == 69
    assert ran.err == [
        f"error: {where(secure)}: its certificate is not trusted: self-signed certificate in certificate chain. {TRUST}"
    ]
