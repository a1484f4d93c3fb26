from tests.support.own_project import own, project

__all__ = ["own", "project"]
