"""How good are the sources an AI answer cites, and do they support what it says?"""

__version__ = "0.1.0"
